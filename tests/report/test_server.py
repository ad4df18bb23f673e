"""Who may ask the explorer's server, and what."""

import pytest
from served import POST, ask, head, raw, serving

EVERY = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


@pytest.fixture
def server(caplog):
    with serving(caplog) as made:
        yield made


# ------------------------------------------------------------------------------- who asks


def test_the_link_leaves_its_token_in_a_cookie_and_goes_on(server):
    answer, _ = ask(server, "/?token=the-token", Cookie=None)
    assert answer.status == 303 and answer.headers["Location"] == "/"
    cookie, *rest = answer.headers["Set-Cookie"].split("; ")
    assert cookie == f"ontogeny-{server.server_port}=the-token"
    assert set(rest) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert ask(server, "/", Cookie=f"theme=dark; other; {cookie}")[0].status == 200


@pytest.mark.parametrize(
    "path", ["/", "/api/state", "/nowhere", "/?token=wrong", "/?token=é&token="]
)
@pytest.mark.parametrize(
    "cookie", [None, "", "x", "ontogeny-1=the-token", "{}=the-toke", "{}=", "ü"]
)
def test_nothing_is_shown_to_those_without_the_cookie(server, path, cookie):
    given = cookie and cookie.format(server.cookie)
    answer, text = ask(server, path.replace("é", "%E9"), Cookie=given)
    assert answer.status == 403 and "use the link that `ontogeny explore` printed" in text
    assert "Set-Cookie" not in answer.headers
    assert answer.headers.get_content_type() == ("text/html" if path[:2] in ("/", "/?") else
                                                 "application/json")  # fmt: skip


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "something"},
        {"Origin": "http://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://localhost:{port}"},  # another origin than the one asked
        {"Host": "elsewhere.example"},
        {"Host": "127.0.0.1"},
    ],
)
@pytest.mark.parametrize("body", [None, "{}"])
def test_only_pages_of_this_server_may_ask(server, headers, body):
    told = {name: text.format(port=server.server_port) for name, text in headers.items()}
    answer, text = ask(server, "/", body, **told)
    assert answer.status == 403 and ("a page of this server" in text or "its own name" in text)
    assert server.site.done == []


def test_its_own_page_and_a_second_tab_may_ask(server):
    own = f"http://127.0.0.1:{server.server_port}"
    assert ask(server, Sec_Fetch_Site="none")[0].status == 200
    assert ask(server, Sec_Fetch_Site="same-origin", Origin=own)[0].status == 200
    assert ask(server, "/", "{}", Sec_Fetch_Site="same-origin", Origin=own)[0].status == 200
    assert server.site.done == [{}]


def test_a_click_on_the_link_elsewhere_counts_if_its_token_is_right(server):
    click = {"Cookie": None, "Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    answer, text = ask(server, "/?token=the-token", **click, Sec_Fetch_Dest="document")
    assert answer.status == 200 and "url=/" in text and "the-token" not in text
    assert answer.headers["Set-Cookie"].startswith(f"{server.cookie}=the-token; ")
    for path, more in (
        ("/?token=wrong", {"Sec_Fetch_Dest": "document"}),
        ("/?token=the-token", {"Sec_Fetch_Dest": "iframe"}),
        ("/?token=the-token", {"Sec_Fetch_Dest": "image"}),
        ("/?token=the-token", {"Sec_Fetch_Dest": "document", "Origin": "http://a.example"}),
    ):
        answer, _ = ask(server, path, **click | more)
        assert answer.status == 403 and "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X_Ontogeny": None}, 403),
        ({"X_Ontogeny": "2"}, 403),
        ({"Sec_Fetch_Site": "none"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": None}, 415),
    ],
)
def test_no_form_of_another_site_can_act(server, headers, status):
    assert ask(server, "/", "{}", **headers)[0].status == status
    assert server.site.done == []


# ------------------------------------------------------------------------------- what is asked


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("[" * 50_000, "too deep"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "too deep"),
        ('{"a": [[[[[[[[1]]]]]]]]}', "too deep"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": -Infinity}', "Infinity is not a number"),
        ('{"a": %s}' % ("9" * 5000), "not JSON"),
        ('{"a": "\ud800"}', "not JSON"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("", "not JSON"),
    ],
    ids=str.split,
)  # fmt: skip
def test_what_is_not_plain_json_is_refused(server, body, reason):
    answer, text = ask(server, "/", body.encode(errors="surrogatepass"))
    assert answer.status == 400 and reason in text
    assert server.site.done == []


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["Content-Length: 2", "Content-Length: 2"], 400),
        (["Content-Length: 2", "Content-Length: 3"], 400),
        (["Transfer-Encoding: chunked"], 400),
        (["Content-Length: 2", "Transfer-Encoding: chunked"], 400),
        (["Content-Length: -2"], 400),
        (["Content-Length: 0x2"], 400),
        (["Content-Length: ²"], 400),
        (["Content-Length: " + "9" * 5000], 413),
        (["Content-Length: 65537"], 413),
        ([], 411),
    ],
    ids=str,
)
def test_one_content_length_says_how_long_a_request_is(server, lines, status):
    text = raw(server, head(server, "POST / HTTP/1.1", *POST, *lines) + b"{}")
    assert text.startswith(f"HTTP/1.0 {status} ")
    assert server.site.done == []


@pytest.mark.parametrize(
    ("noise", "status"),
    [
        (b"\r\n", 400),
        (b"\x00\xff\x00\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET /\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"GET / HTTP/0.9\r\n\r\n", 403),
        (b"GET / FTP/1.0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 403),
        (b"GET / a b HTTP/1.1\r\n\r\n", 400),
        (b"OPTIONS / HTTP/1.1\r\n\r\n", 405),
        (b"HEAD / HTTP/1.1\r\n\r\n", 405),
        (b"BREW / HTTP/1.1\r\n\r\n", 405),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"A: a\r\n" * 200 + b"\r\n", 431),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 403),
    ],
    ids=lambda each: str(each)[:30],
)
def test_every_answer_has_the_same_headers_and_none_is_an_error_of_ours(server, noise, status):
    text, _, body = raw(server, noise).partition("\r\n\r\n")
    first, *lines = text.split("\r\n")
    assert first.startswith(f"HTTP/1.0 {status} ")
    told = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    assert all(value in told[name] for name, value in EVERY.items())
    assert "unsafe" not in told["content-security-policy"]
    assert "frame-ancestors 'none'" in told["content-security-policy"]
    assert "script" not in body.lower()
