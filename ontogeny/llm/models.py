"""Pretrained decoder-only language models, loaded from a file, a folder or the hub, and checked."""

import copy
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..core.fields import Component, ConfigError, string
from .download import DEFAULT, KNOWN_MODELS, absent, get, package_of, path_of, sha256_of
from .libraries import library, quietly
from .scalings import add_identity_scalings

__all__ = ["DEFAULT", "Loaded", "Pretrained", "absent", "fresh", "get", "load", "pinned"]

FAMILIES = (
    "gpt2",
    "gpt_neox",
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "gemma",
    "gemma2",
    "gemma3_text",
    "smollm3",
)
HUB = re.compile(r"[\w-][\w.-]*/[\w.-]+")
WANTED = ("*.safetensors", "*.gguf", "*.json", "*.model", "*.txt")


class Loaded(NamedTuple):
    """A model in single precision, the tokenizer it was trained with, and a hash of its files."""

    name: str
    model: Any
    tokenizer: Any
    digest: str

    @property
    def family(self) -> str:
        """What kind of model it is, in the library's words."""
        return str(self.model.config.model_type)

    def tokens(self, text: str) -> list[int]:
        """A text as tokens, with a BOS token if the model expects one: if its tokenizer adds it, or
        if it is a Gemma, whose GGUF files forget to say so."""
        found = list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        start = self.tokenizer.bos_token_id
        has_bos = self.tokenizer("a")["input_ids"][:1] == [start]
        return [start, *found] if has_bos or self.family.startswith("gemma") else found


class Pretrained(Component):
    """A pretrained model: a name of `ontogeny models list`, a path or a name on the hub; the last
    two with the hash that their files must have."""

    name: str = string(DEFAULT, doc="one of `ontogeny models list`, a path, or a name on the hub")
    digest: str = string("", doc="the hash that its files must have; none for a listed model")

    def load(self) -> Loaded:
        """The model, if its files have the hash they must have."""
        loaded = load(self.name)
        if self.digest and loaded.digest != self.digest:
            raise ConfigError(
                f"{self.name} is another model than the experiment names: its files hash to "
                f"{loaded.digest[:12]}…, not {self.digest[:12]}…"
            )
        return loaded


def pinned(name: str) -> Pretrained:
    """A model for an experiment. Unless its name is a known one, it is pinned to the hash of its
    files, so that a stored result is never that of other weights."""
    return Pretrained(name) if name in KNOWN_MODELS else Pretrained(name, _digest(_found(name)))


def load(name: str = DEFAULT) -> Loaded:
    """A model and its tokenizer; or an error (ConfigError) that says what is wrong with it."""
    files = _found(name)
    digest = _digest(files)
    if name in KNOWN_MODELS and digest != package_of(name).digest:
        raise ConfigError(f"{files.weights} is damaged: remove it, then ontogeny models get {name}")
    loaded = _loaded(name, files, digest)
    # trained in place, so each run has a copy; the one that is kept stays as it was loaded
    return loaded._replace(model=copy.deepcopy(loaded.model))


@lru_cache(maxsize=1)  # consecutive runs start from the same weights
def _loaded(name: str, files: "_Files", digest: str) -> Loaded:
    with quietly():
        config = _config(name, files)
        model = _weights(name, files)
        tokenizer = _tokenizer(name, files)
    if getattr(config, "identity_scalings", None):
        add_identity_scalings(model, saved=files.folder)
    return Loaded(name, model.eval(), tokenizer, digest)


def fresh(loaded: Loaded, seed: int) -> Loaded:
    """A model of the same architecture with random weights."""
    torch, transformers = library("torch"), library("transformers")
    config = copy.deepcopy(loaded.model.config)
    scaled = getattr(config, "identity_scalings", None)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(
            config,
            dtype=torch.float32,
            trust_remote_code=False,
            **({"attn_implementation": "eager"} if scaled else {}),
        )
    if scaled:
        add_identity_scalings(model, own=scaled["own"])
    return loaded._replace(model=model.eval(), digest="")


# -- files


class _Files(NamedTuple):
    folder: Path
    weights: Path | None  # the GGUF file; none if the folder holds safetensors

    @property
    def where(self) -> dict[str, Any]:
        gguf = {"gguf_file": self.weights.name} if self.weights else {}
        return {
            "pretrained_model_name_or_path": str(self.folder),
            "local_files_only": True,
            "trust_remote_code": False,  # no code that comes with a model is run
            **gguf,
        }


def _found(name: str) -> _Files:
    """A model's files, downloaded from the hub if the name is one of the hub."""
    if name in KNOWN_MODELS:
        if reason := absent(name):
            raise ConfigError(f"{name} is not here: {reason}")
        return _Files(path_of(name).parent, path_of(name))
    path = Path(name).expanduser()
    if path.is_file():
        if path.suffix != ".gguf":
            raise ConfigError(f"{name} is not a model: give a folder, or a file that ends in .gguf")
        return _Files(path.parent, path)
    if not path.exists():
        looks_like_path = name.startswith((".", "/", "~")) or path.suffix in (".gguf", ".bin")
        if HUB.fullmatch(name) and not looks_like_path:
            path = _from_hub(name)
        elif "/" in name or looks_like_path:
            raise ConfigError(f"{name} does not exist")
        else:
            package_of(name)  # which says what names there are
    if (path / "config.json").exists() and list(path.glob("*.safetensors")):
        return _Files(path, None)
    if len(found := sorted(path.glob("*.gguf"))) == 1:
        return _Files(path, found[0])
    raise ConfigError(
        f"{name} holds neither one GGUF file nor a config.json with safetensors beside it"
        + (": its weights are pickled, and nothing is unpickled here" * _pickled(path))
    )


def _pickled(folder: Path) -> bool:
    return any(folder.glob("pytorch_model*.bin"))


def _from_hub(name: str) -> Path:
    hub = library("huggingface_hub")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(WANTED)))
    except Exception as error:  # no network, no such name, no permission: the hub's own words
        problem = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ConfigError(
            f"{name} is not a folder here, and the hub does not give it: {problem}"
        ) from None


def _digest(files: _Files) -> str:
    if files.weights:
        return sha256_of(files.weights)
    # configuration and tokenizer too: they decide the answers as much as weights do
    return sha256_of(*sorted({path for each in WANTED for path in files.folder.glob(each)}))


# -- their contents


def _config(name: str, files: _Files) -> Any:
    """The configuration, if it is that of a decoder-only model."""
    try:
        config = library("transformers").AutoConfig.from_pretrained(**files.where)
    except Exception as error:
        raise ConfigError(f"{name}: {_damage(files, error)}") from None
    if config.model_type not in FAMILIES:
        raise ConfigError(
            f"{name} is a {config.model_type}, which is not a decoder-only language model that is "
            f"known here: {', '.join(FAMILIES)}"
        )
    return config


def _weights(name: str, files: _Files) -> Any:
    """The model; missing weights are an error, never initialized at random."""
    torch, transformers = library("torch"), library("transformers")
    try:
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            **files.where,
            dtype=torch.float32,
            output_loading_info=True,
            **({} if files.weights else {"use_safetensors": True}),
        )
    except Exception as error:
        raise ConfigError(f"{name}: {_damage(files, error)}") from None
    if files.weights:  # once loaded, quantized weights are float32 like others
        model.hf_quantizer = None
        del model.config.quantization_config
    # the library would draw them at random, and only warn
    if absent := sorted(info["missing_keys"]):
        raise ConfigError(
            f"{name} lacks weights: {', '.join(absent[:3])}{' …' * (len(absent) > 3)}"
        )
    if info.get("mismatched_keys"):
        raise ConfigError(f"{name} has weights of other shapes than its config.json says")
    for which, values in model.named_parameters():
        if not bool(torch.isfinite(values).all()):
            raise ConfigError(f"{name} is damaged: {which} holds numbers that are not finite")
    return model


def _tokenizer(name: str, files: _Files) -> Any:
    try:
        return library("transformers").AutoTokenizer.from_pretrained(**files.where)
    except Exception as error:
        problem = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ConfigError(f"{name} has no tokenizer that can be read: {problem}") from None


def _damage(files: _Files, error: Exception) -> str:
    """What is wrong with files that cannot be loaded, in plain words where we know."""
    problem = next(iter(str(error).strip().splitlines()), type(error).__name__)
    if files.weights:
        with files.weights.open("rb") as file:
            if file.read(4) != b"GGUF":
                return f"{files.weights.name} is not a GGUF file"
        return f"{files.weights.name} is truncated or damaged ({problem})"
    try:
        json.loads((files.folder / "config.json").read_text())
    except (OSError, ValueError) as broken:
        return f"config.json cannot be read ({broken})"
    for path in sorted(files.folder.glob("*.safetensors")):
        try:
            with library("safetensors").safe_open(path, "np") as opened:
                list(opened.keys())
        except Exception as broken:
            return f"{path.name} is truncated or damaged ({broken})"
    return problem
