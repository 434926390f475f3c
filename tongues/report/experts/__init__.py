"""The pages of language experts and of partitions."""
