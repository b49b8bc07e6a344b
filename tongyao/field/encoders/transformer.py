"""The encoder with weights: any sentence-transformers model, by name or by path (docs/field.md §5)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np

from tongyao.field.encoders.encoder import EncoderUnusable, Vectors
from tongyao.protocol.contracts.maintenance import ModelSpec

BATCH: Final = 32


class TransformerEncoder:
    """A loaded model. Batches run on `threads` threads of its own, so that the callers' thread pools stay free.

    Args:
        spec: `model` is a name on the Hugging Face hub, or a folder. Nothing is fetched while `HF_HUB_OFFLINE` is set.
            `dimension`: only this many leading dimensions are used, renormalised; for models trained for it
                (Matryoshka).
            `query_prompt`, `document_prompt`: text put before each input. None: the model's own prompt.
            `languages`: languages of queries that the model supports (`zh`, `en`); empty: all. Set it for a model of
                one language.

    Raises:
        EncoderUnusable: sentence-transformers or the weights are missing, or there are fewer dimensions than requested.
    """

    def __init__(self, spec: ModelSpec, *, threads: int = 1) -> None:
        model, dimension = spec.model, spec.dimension
        self._model = _load(model, dimension)
        width = int(self._model.get_embedding_dimension())
        if dimension is not None and dimension > width:
            raise EncoderUnusable(
                f"the model {model} has {width} dimensions, {dimension} were asked for: ask for at most {width}"
            )
        self.name = "/".join(Path(model).resolve().parts[-2:]) if Path(model).is_dir() else model
        self.dimension = dimension or width
        self.languages = frozenset(spec.languages)
        self._prompts = {True: spec.query_prompt, False: spec.document_prompt}
        self.version = self._digest()
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="encode")

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Rows of norm 1, shape (texts, dimension), in the order of `texts`."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        batches = [list(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        return np.vstack(list(self._threads.map(lambda batch: self._batch(batch, query), batches)))

    def _batch(self, texts: list[str], query: bool) -> Vectors:
        encode: Any = self._model.encode_query if query else self._model.encode_document
        prompt = {} if self._prompts[query] is None else {"prompt": self._prompts[query]}
        made = encode(texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False, **prompt)
        return np.asarray(made, dtype=np.float32)

    def _digest(self) -> str:
        """Return a digest of the first values of all weights, of the prompts and the dimension: the same on all
        machines."""
        made = hashlib.sha256(repr((self.dimension, self._prompts, self._model.prompts)).encode())
        for name, weight in self._model.state_dict().items():
            made.update(f"{name}{tuple(weight.shape)}".encode())
            made.update(weight.flatten()[:64].float().cpu().numpy().tobytes())
        return made.hexdigest()[:16]


def _load(model: str, dimension: int | None) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise EncoderUnusable(
            "encoders with weights need the extra `embeddings`: pip install 'tongyao[embeddings]'"
        ) from None
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    try:
        return SentenceTransformer(model, device="cpu", truncate_dim=dimension, local_files_only=offline)
    except (OSError, ValueError, RuntimeError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        where = (
            "HF_HUB_OFFLINE is set and the model was not fetched before"
            if offline
            else "the model could not be fetched"
        )
        raise EncoderUnusable(
            f"no weights for {model!r} ({where}: {first[:200]}): name a folder that contains the model, or fetch it "
            f"on a machine with internet access (`hf download {model}`) and copy it"
        ) from None
