"""The tasks of the published evaluations, whose prompts and examples are in English everywhere."""

from unicodedata import category

from tongues.evaluate.tasks.task import TASKS, Fields, OnHub, Task

_BECAUSE = {"cause": "because", "effect": "therefore"}


def copa_row(row: Fields) -> Fields:
    """A premise without its last mark, the word that joins, and choices that go on with it."""
    words = {key: text for key, text in row.items() if isinstance(text, str)}
    if "premise" in words:
        words["premise"] = _open(words["premise"])
    if "question" in words:
        words["question"] = _BECAUSE[words["question"]]
    for key in {"choice1", "choice2"} & words.keys():
        words[key] = words[key][:1].lower() + words[key][1:]
    return {**row, **words}


def _open(text: str) -> str:
    text = text.strip()
    return text[:-1] if text and category(text[-1]).startswith("P") else text


def _tags(words: str) -> tuple[str, ...]:
    return tuple(words.split())


TASKS.add(
    Task(  # Yang et al. 2019; prompt of Lin et al. 2022 and Blevins et al. 2024
        name="paws-x",
        summary="do two sentences that look alike say the same",
        prompt="{sentence1}, right?",
        choices=("No, {sentence2}", "Yes, {sentence2}"),
        languages=_tags("de en es fr ja ko zh"),
        hub=OnHub("google-research-datasets/paws-x", "{language}", demonstrations="validation"),
        demonstrations="pawsx_dev/{language}.jsonl",
        group="sentence1",
    )
)
TASKS.add(
    Task(  # Ponti et al. 2020; English is COPA (Roemmele et al. 2011), not in the hub's data set
        name="xcopa",
        summary="which of two sentences is the cause, or the effect, of a third",
        prompt="{premise} {question}",
        choices=("{choice1}", "{choice2}"),
        languages=_tags("et ht id it qu sw ta th tr vi zh"),
        hub=OnHub("cambridgeltl/xcopa", "{language}", demonstrations="validation"),
        demonstrations="xcopa_val/{language}.jsonl",
        id="idx",
        group="premise",
        prepared=copa_row,
    )
)
TASKS.add(
    Task(  # Conneau et al. 2018; prompt of Lin et al. 2022 and Blevins et al. 2024
        name="xnli",
        summary="does the second sentence follow from the first, neither, or does it contradict it",
        prompt="{premise}, right?",
        choices=("Yes, {hypothesis}", "Also, {hypothesis}", "No, {hypothesis}"),
        languages=_tags("ar bg de el en es fr hi ru sw th tr ur vi zh"),
        hub=OnHub("facebook/xnli", "{language}", demonstrations="validation"),
        demonstrations="xnli_val/{language}.jsonl",
        group="premise",
    )
)
TASKS.add(
    Task(  # Lin et al. 2022, after Mostafazadeh et al. 2016; the prompt is the story
        name="xstorycloze",
        summary="which of two endings fits a story of four sentences",
        prompt="{input_sentence_1} {input_sentence_2} {input_sentence_3} {input_sentence_4}",
        choices=("{sentence_quiz1}", "{sentence_quiz2}"),
        languages=_tags("ar en es eu hi id my ru sw te zh"),
        hub=OnHub("juletxara/xstory_cloze", "{language}", "eval", "train"),
        demonstrations="xstorycloze_train/{language}.jsonl",
        id="story_id",
        label="answer_right_ending",
        labels=(1, 2),
    )
)
