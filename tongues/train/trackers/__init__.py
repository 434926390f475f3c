"""Copies of a run's logs in other programs: TensorBoard, Weights & Biases."""

from tongues.train.trackers.tensorboard import TensorBoard
from tongues.train.trackers.tracker import TRACKERS, Tracker, Write, settings_of
from tongues.train.trackers.wandb import WeightsAndBiases

__all__ = ["TRACKERS", "TensorBoard", "Tracker", "WeightsAndBiases", "Write"]
__all__ += ["settings_of"]
