import yaml

from tongues.cards import card_head, card_table


def test_the_head_is_read_by_the_hub_as_it_was_meant() -> None:
    head = card_head("transformers", ["no", "sw", "zh-Hans"], "org/name")
    before, inside, after = head.split("---")
    assert not before and not after
    read = yaml.safe_load(inside)  # YAML 1.1, in which `no` unquoted is false
    assert read == {
        "library_name": "transformers",
        "language": ["no", "sw", "zh-Hans"],
        "base_model": "org/name",
    }
    assert "base_model" not in card_head("transformers", ["sw"])


def test_a_table_has_numbers_to_the_right_and_cells_that_stay_cells() -> None:
    rows = [{"name": "a|b", "value": "-1.5"}, {"name": "c", "value": ""}]
    assert card_table(rows).split("\n") == [
        "| name | value |",
        "| --- | ---: |",
        r"| a\|b | -1.5 |",
        "| c |  |",
    ]
