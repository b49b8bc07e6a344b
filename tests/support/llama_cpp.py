"""A real llama.cpp server on loopback, with a model of random weights. A grammar decides its answers, or chance does.

`python -m tests.support.llama_cpp FOLDER PORT` serves until it is terminated. It needs `xllamacpp` (prebuilt llama.cpp
with its server) and `gguf`. The model has one layer and a vocabulary of single bytes. It writes only ASCII.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np

WIDTH, INNER, HEADS, CONTEXT = 32, 64, 2, 65_536
FIRST_BYTE = 3
"""The number of the token for byte 0. The three special tokens precede it."""
TEMPLATE = "{% for message in messages %}<{{ message.role }}>{{ message.content }}\n{% endfor %}<assistant>"


def write_model(path: Path) -> Path:
    """Write a llama model of random weights as GGUF. The weights are the same each time."""
    import gguf

    random = np.random.default_rng(7)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(0)
    tokens = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256)), "▁".encode()]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([2, 3, 3, *[6] * 256, 1])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)
    writer.add_vocab_size(len(tokens))

    def weights(name: str, *shape: int, first: np.ndarray | float | None = None) -> None:
        drawn = random.standard_normal(shape) * 0.05
        if first is not None:
            drawn[:, 0] = first
        writer.add_tensor(f"{name}.weight", drawn.astype(np.float32))

    # The first number of all token vectors is the same. So the first number of a row of `output` always raises or
    # lowers the probability of its token.
    leaning = np.zeros(len(tokens))
    leaning[FIRST_BYTE + 128 :] = -50.0
    leaning[[FIRST_BYTE + ord(sign) for sign in '"]}']] = 0.4
    weights("token_embd", len(tokens), WIDTH, first=4.0)
    weights("output", len(tokens), WIDTH, first=leaning)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        weights(f"blk.0.{part}", WIDTH, WIDTH)
    weights("blk.0.ffn_gate", INNER, WIDTH)
    weights("blk.0.ffn_up", INNER, WIDTH)
    weights("blk.0.ffn_down", WIDTH, INNER)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def main(folder: Path, port: int) -> None:
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(write_model(folder / "random.gguf"))
    settings.n_ctx, settings.n_parallel, settings.n_gpu_layers = CONTEXT, 1, 0
    settings.hostnames, settings.port = ["127.0.0.1"], port
    settings.cpuparams.n_threads = 1
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
