"""The page in a real browser: it filters, moves, computes what JAX does, asks nobody."""

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ontogeny import Store, execute
from ontogeny.claims.find import find
from ontogeny.claims.status import remember
from ontogeny.claims.verdict import judge
from ontogeny.engine.program import begin
from ontogeny.engine.serialize import digest, serialize
from ontogeny.models.clauses import sentences_of
from ontogeny.report.explorer import Server
from ontogeny.report.page import report_page, write
from ontogeny.report.playground import MODELS, models, named, unravel

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium here: apt-get install chromium"
)
CLAIM = "gradients_have_the_stated_form"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with one judged claim and all that are untested."""
    folder = tmp_path_factory.mktemp("page")
    store = Store(folder / "store")
    claims = find([CLAIM])
    for verdict in judge(claims, lambda asked, n: execute(asked, n, store=store), seeds=5):
        remember(store, verdict)
    text, *_ = report_page(store, [])
    return write(text, folder / "report").as_uri()


class Visit:
    """A page, with what it asked for and what it complained of."""

    def __init__(self, browser, address, **settings):
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)


@pytest.fixture
def visit(browser, address):
    visits = []

    def go(to="", **settings):
        visits.append(Visit(browser, address + to, **settings))
        return visits[-1]

    yield go
    for each in visits:
        assert each.complaints == []
        assert each.requests[1:] == []  # the page itself, and nothing else
        each.context.close()


def test_the_table_filters_searches_and_sorts(visit):
    page = visit().page
    rows = page.locator("#verdicts tbody tr:visible")
    whole_table = rows.count()
    page.select_option("#filter select[name=outcome]", "supported")
    assert rows.count() == 1 and page.inner_text("#shown") == f"1 of {whole_table} claims"
    page.select_option("#filter select[name=outcome]", "")
    page.fill("#filter input[name=text]", "gradients")
    assert 0 < rows.count() < whole_table
    page.fill("#filter input[name=text]", "")
    button = page.locator("button.sort", has_text="claim")
    button.focus()
    page.keyboard.press("Enter")
    said = [row.split("\t")[2] for row in rows.all_inner_texts()]
    assert said == sorted(said, key=str.casefold) and len(said) == whole_table
    assert page.locator("th[aria-sort=ascending]").inner_text() == "claim"


def test_a_claim_opens_with_its_figures_and_leads_back(visit):
    page = visit(f"#{CLAIM}").page
    assert page.locator("section.claim:visible").count() == 1
    page.wait_for_selector("section.open canvas")
    assert not page.locator("#verdicts").is_visible()
    page.click("section.open >> text=all claims")
    page.wait_for_selector("#verdicts")
    assert page.locator("section.claim:visible").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_systems_colours_and_fits_a_phone(visit, scheme):
    page = visit(color_scheme=scheme, viewport={"width": 390, "height": 800}).page
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != back
    page.evaluate(f"location.hash = {CLAIM!r}")
    page.wait_for_selector("section.open canvas")
    legend = "getComputedStyle(document.querySelector('section.open .legend i')).borderTopColor"
    before = page.evaluate(legend)
    page.click("#theme")
    page.wait_for_function(f"{legend} !== {before!r}")  # figures have the new colours too
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_first_paint_is_soon(visit):
    page = visit().page
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    assert page.evaluate(paint) < 1000


def test_moving_through_training_moves_the_answer_and_the_attention(visit):
    page = visit().page
    article = page.locator("article[data-model=lego]")
    article.scroll_into_view_if_needed()
    slider = article.locator("input[type=range]")
    slider.wait_for()
    trained = article.locator(".says").inner_text()
    assert "all right" in trained
    article.locator("figure").first.scroll_into_view_if_needed()
    article.locator("canvas").first.wait_for()
    drawn = "node => node.querySelector('canvas').toDataURL()"
    before = article.evaluate(drawn)
    slider.focus()
    page.keyboard.press("Home")
    assert article.locator(".says").inner_text() != trained
    assert slider.get_attribute("aria-valuetext") == "step 0"
    page.wait_for_function("([node, old]) => node.querySelector('canvas').toDataURL() !== old",
                           arg=[article.element_handle(), before])  # fmt: skip
    article.locator("input[type=text]").fill("a=2, b=a+9")
    assert "below 6" in article.locator(".says").inner_text()


INJECT = """() => {
  window.ran = false;
  const script = document.createElement("script"), box = document.createElement("p");
  script.textContent = "window.ran = true";
  document.body.append(script);
  box.innerHTML = '<b style="color: rgb(1, 2, 3)">x</b><img src="x:" onerror="window.ran = true">';
  document.body.append(box);
  const sheet = document.createElement("style");
  sheet.textContent = "body { color: rgb(1, 2, 3) }";
  document.head.append(sheet);
  const colour = (each) => getComputedStyle(each).color;
  return [window.ran, colour(box.firstChild), colour(document.body)];
}"""


def nothing_injected_runs(page):
    ran, *colours = page.evaluate(INJECT)
    page.wait_for_timeout(200)
    assert not ran and not page.evaluate("window.ran")
    assert "rgb(1, 2, 3)" not in colours


def test_no_script_or_style_runs_that_is_not_the_pages_own(browser, address):
    visit = Visit(browser, address)
    nothing_injected_runs(visit.page)
    assert visit.complaints
    assert all("Content Security Policy" in said for said in visit.complaints)
    visit.context.close()


# ------------------------------------------------------------------------------- the explorer


@pytest.fixture
def server(tmp_path):
    with Server(Store(tmp_path / "store")) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_the_explorer_says_what_is_wrong_and_follows_what_it_starts(browser, server):
    visit = Visit(browser, server.address)
    page = visit.page
    assert page.url == f"http://127.0.0.1:{server.server_port}/"  # the token is out of sight
    assert page.evaluate("document.cookie") == ""
    page.evaluate(f"location.hash = {CLAIM!r}")
    form = page.locator("section.open form.sweep")
    form.locator("select[name=path]").select_option("task.tuples")
    assert "how many tuples (s, t, b, c); a whole number" in form.locator("p.meaning").inner_text()
    form.locator("input[name=values]").fill("-4")
    form.locator("button[name=sweep]").click()
    form.locator("output.failed").wait_for()
    assert "tuples" in form.locator("output").inner_text()
    form.locator("input[name=values]").fill("4, 6")
    form.locator("input[name=seeds]").fill("2")
    form.locator("button[name=sweep]").click()
    page.get_by_text("is running").wait_for()
    page.get_by_text("is done").wait_for(timeout=240_000)
    page.get_by_text("Sweep of task.tuples").wait_for()
    assert all(url.startswith(f"http://127.0.0.1:{server.server_port}/") for url in visit.requests)
    refused = "Failed to load resource: the server responded with a status of 400 (Bad Request)"
    assert visit.complaints == [refused]  # the one that was meant
    page.reload()
    page.wait_for_selector("section.open canvas")
    tab = visit.context.new_page()
    tab.goto(page.url)
    tab.wait_for_selector("section.open canvas")
    tab.click("section.open >> text=all claims")
    tab.click("#compare button")
    tab.wait_for_selector("#compared canvas")
    assert "tuples: 6" in tab.locator("#compared pre").nth(1).inner_text()
    assert visit.complaints == [refused]
    nothing_injected_runs(tab)
    visit.context.close()


def test_the_link_may_be_clicked_elsewhere_and_nothing_else_of_the_explorer_is_shown(
    browser, server, tmp_path
):
    own = f"http://127.0.0.1:{server.server_port}/"
    links = f'<a href="{server.address}">with</a> <a href="{own}">without</a>'
    (tmp_path / "mail.html").write_text(f'{links}<iframe src="{server.address}"></iframe>')
    handler = partial(Silent, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        for host in ("localhost", "127.0.0.1"):  # another site, and another port of this one
            mail = f"http://{host}:{elsewhere.server_port}/mail.html"
            visit = Visit(browser, mail)
            visit.page.click("text=without")
            assert "may ask for that" in visit.page.inner_text("body")
            visit.page.goto(own)
            assert "use the link" in visit.page.inner_text("body")
            visit.page.goto(mail)
            visit.page.click("text='with'")
            visit.page.wait_for_selector("#verdicts")
            assert visit.page.url == own
            visit.page.reload()
            visit.page.wait_for_selector("#verdicts")
            visit.page.go_back()
            assert visit.page.url == mail  # the link with its token is not remembered
            (frame,) = visit.page.frames[1:]
            assert "Ontogeny" not in frame.content()
            visit.context.close()
        elsewhere.shutdown()


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


# ------------------------------------------------------------------------------ the same numbers

READ = """
const carried = JSON.parse(document.getElementById("models").textContent);
const model = await models.read(carried[name].data), weights = model.weights[evaluation];
const plain = (rows) => rows.map((row) => [...row]);
"""


def computed(page, name, evaluation, body, asked=None):
    """What a piece of script makes of a packaged model at one evaluation of its training."""
    script = f"async ([name, evaluation, asked]) => {{ {READ} {body} }}"
    return page.evaluate(script, [name, evaluation, asked])


def trained(page, name, evaluation):
    """The experiment, and what the page reads of the shipped weights, as its parameters."""
    experiment = MODELS[name].experiment
    body = "return Object.fromEntries(Object.entries(weights).map(([k, m]) => [k, [...m.values]]));"
    got = computed(page, name, evaluation, body)
    begun = begin(experiment, jnp.asarray(0)).params
    flat = [np.array(got.get(key, []), np.float32) for key in named(begun)]
    return experiment, unravel(experiment, np.concatenate(flat))


@pytest.mark.parametrize("evaluation", [0, 3, 15])
def test_the_pages_induction_head_matches_jax(visit, evaluation):
    page = visit().page
    experiment, params = trained(page, "induction", evaluation)
    tokens = np.random.default_rng(evaluation).integers(0, experiment.task.vocab, 30)
    trace = experiment.model(params, jnp.asarray(tokens), jnp.arange(30))
    body = """const { outputs, attention } = models.InductionPair(weights, asked);
    return [plain(outputs), attention];"""
    outputs, attention = computed(page, "induction", evaluation, body, tokens.tolist())
    np.testing.assert_allclose(outputs, trace.outputs, atol=1e-4)
    for layer, rows in enumerate(attention):
        for place, row in enumerate(rows):
            expected = trace.attention[layer][0, place, : place + 1]
            np.testing.assert_allclose(row, expected, atol=1e-4)


@pytest.mark.parametrize("name", ["bridged", "unbridged"])
def test_the_pages_two_hops_match_jax(visit, name):
    page = visit().page
    experiment, params = trained(page, name, 7)
    questions = np.random.default_rng(0).integers(0, experiment.task.vocab, (20, 3))
    answer = jax.vmap(experiment.model, (None, 0, None))
    outputs = answer(params, jnp.asarray(questions), jnp.array([2])).outputs[:, 0]
    body = "return plain(asked.map((tokens) => models.EmbeddingMLP(weights, tokens).outputs));"
    found = computed(page, name, 7, body, questions.tolist())
    np.testing.assert_allclose(found, outputs, atol=1e-4)


@pytest.mark.parametrize("evaluation", [0, 6, 16])
def test_the_pages_lego_matches_jax_step_by_step_and_in_a_rollout(visit, evaluation):
    page = visit().page
    experiment, params = trained(page, "lego", evaluation)
    task, model = experiment.task, experiment.model
    batch = task.sample(task.world(jax.random.key(2)), "10 steps", jax.random.key(3))
    sentence = jax.tree.map(lambda x: x[0], sentences_of(task, batch))
    trace = model(params, batch.inputs[0], batch.at[0])
    body = """const [predicates, answers] = asked;
    const told = models.ClauseTransformer(weights, predicates, answers, model.heads);
    const alone = models.rollout(weights, predicates, answers[0], model.heads);
    return [plain(told.outputs), told.attention, alone.answers.slice(1)];"""
    asked = [np.asarray(part).tolist() for part in (sentence.predicates, sentence.answers)]
    outputs, attention, written = computed(page, "lego", evaluation, body, asked)
    np.testing.assert_allclose(outputs, trace.outputs, atol=1e-4)
    expected = np.asarray(trace.attention[0]).mean(axis=0)
    for answer, weights in enumerate(attention):
        np.testing.assert_allclose(weights, expected[answer, : len(weights)], atol=1e-4)
    assert written == np.asarray(model.rollout(params, sentence)).tolist()


def test_the_packaged_models_are_those_of_the_code():
    """Trained as the code says today: `ontogeny train-page` makes them again."""
    carried = models()
    assert carried.keys() == MODELS.keys()
    for name, model in MODELS.items():
        assert carried[name]["made"] == digest(serialize(model.experiment)), name
