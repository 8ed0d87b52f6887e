"""Words whose order is known: answers, frequencies, grades."""

import itertools
import random
from collections import Counter

import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.draft.scales import LISTS, scale_of

SCALES = {
    "agreement": ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"],
    "agreement in seven": [
        "completely disagree",
        "disagree",
        "somewhat disagree",
        "neutral",
        "somewhat agree",
        "agree",
        "completely agree",
    ],
    "importance": ["Not at all important", "Slightly important", "Moderately important", "Very important"],
    "no middle": ["very unlikely", "unlikely", "likely", "very likely"],
    "frequency": ["never", "rarely", "sometimes", "often", "always"],
    "amounts": ["none", "low", "medium", "high", "very high"],
    "quality": ["very poor", "poor", "fair", "good", "excellent"],
    "education": ["primary school", "High School", "Bachelor's degree", "Master's degree", "Ph.D."],
    "sizes": ["XS", "S", "M", "L", "XL"],
    "stages": ["I", "II", "III", "IV"],
    "grades": [f"Grade {number}" for number in range(1, 13)],
    "weekdays": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "Zustimmung": ["stimme gar nicht zu", "stimme eher nicht zu", "teils/teils", "stimme eher zu", "stimme voll zu"],
    "Häufigkeit": ["nie", "selten", "manchmal", "häufig", "immer"],
    "Zufriedenheit": ["sehr unzufrieden", "eher unzufrieden", "teils, teils", "eher zufrieden", "sehr zufrieden"],
}
NONE = {
    "colours": ["red", "green", "blue"],
    "something else beside": ["never", "sometimes", "always", "don't know"],
    "twice at one place": ["often", "frequently", "never", "always"],
    "two": ["high", "low"],
    "marital states": ["s", "m", "d"],
    "towns": ["Oslo", "Bergen", "Voss"],
    "codes": ["Store 1", "Store 2", "Store 3"],
}


@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_is_told_whatever_order_its_words_come_in(scale: str) -> None:
    words = SCALES[scale]
    assert scale_of(random.Random(4).sample(words, len(words))) == words


@pytest.mark.parametrize("words", NONE.values(), ids=NONE)
def test_other_words_are_none(words: list[str]) -> None:
    assert scale_of(words) == []


def test_no_word_stands_at_two_places_of_a_scale() -> None:
    for scale in LISTS:
        words = Counter(word.strip() for place in scale.split("/") for word in place.split(","))
        assert max(words.values()) == 1, scale
        for one, other in itertools.pairwise(scale.split("/")):
            assert one.strip()
            assert other.strip()


def test_answers_are_put_together_with_their_neighbours() -> None:
    draw = random.Random(1)
    answers = {f"question {place}": draw.choices(SCALES["agreement"], [1, 2, 3, 9, 9], k=400) for place in range(5)}
    table = pa.table({"age": [draw.randrange(20, 60) for _ in range(400)], **answers})
    draft = rf.draft(table)
    for name in answers:
        assert draft.attributes[name].order == SCALES["agreement"]
        assert draft.attributes[name].representation == "range"
    release = rf.anonymize(table, draft)
    assert not any("[Strongly disagree, Strongly agree]" in release.table[name].to_pylist() for name in answers)
    assert any("*" in release.table[name].to_pylist() for name in answers)  # which is all of them
    assert "[Agree, Strongly agree]" in release.table["question 0"].to_pylist()
    assert not any("{" in str(cell) for name in answers for cell in release.table[name].to_pylist())
    bare = {name: {"role": "quasi", "hierarchy": "flat"} for name in answers}
    parts = draft.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
    without = rf.anonymize(table, rf.Spec(**{**parts, "attributes": {**parts["attributes"], **bare}}))
    assert release.metrics["glm"] < without.metrics["glm"]
