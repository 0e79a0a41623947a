"""Sessions of the Allen Brain Observatory: Visual Coding with Neuropixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from repshape.errors import InputError, InputTypeError
from repshape.io.nwb import opened
from repshape.io.nwb_recording import PathLike, Recording, SpikeCounts
from repshape.io.nwb_rules import has_no_value
from repshape.responses import Trials


def has_location(location: Any) -> bool:
    """Whether an electrode is inside the brain, by its location."""
    return not has_no_value(location)


ALLEN_FILTERS: Mapping[str, Any] = {
    "quality": "good",
    "amplitude_cutoff": (None, 0.1),
    "presence_ratio": (0.95, None),
    "isi_violations": (None, 0.5),
    "valid_data": [True, 1],
    "location": has_location,
}
"""The default quality filter of the AllenSDK. Limits are included."""


@dataclass(frozen=True)
class Stimulus:
    """How to read the presentations of a stimulus, unless the user says otherwise."""

    condition: tuple[str, ...]
    blank_when: Mapping[str, Any] = field(default_factory=dict)
    keep_blanks: bool = False


# A grating without an orientation is a blank, whatever its other columns contain.
NO_ORIENTATION = {"orientation": None}
STIMULI = {
    "natural_scenes": Stimulus(("frame",), {"frame": -1}, keep_blanks=True),
    "static_gratings": Stimulus(("orientation",), NO_ORIENTATION),
    "drifting_gratings": Stimulus(("orientation", "temporal_frequency"), NO_ORIENTATION),
    "drifting_gratings_contrast": Stimulus(("orientation", "contrast"), NO_ORIENTATION),
    "drifting_gratings_75_repeats": Stimulus(("orientation",), NO_ORIENTATION),
    "gabors": Stimulus(("x_position", "y_position", "orientation")),
    "flashes": Stimulus(("color",)),
    "natural_movie_one": Stimulus(("frame",)),
    "natural_movie_three": Stimulus(("frame",)),
    "natural_movie_one_more_repeats": Stimulus(("frame",)),
    "dot_motion": Stimulus(("Dir", "Speed")),
}
"""The stimuli of both stimulus sets, by the names of their tables."""


# Duong et al. (2023) count spikes in this window, in seconds after the onset.
WINDOW = (0.0, 0.25)


def read_allen(
    path: PathLike | Recording,
    stimulus: str = "natural_scenes",
    area: str | Sequence[str] | None = "VISp",
    *,
    condition: str | Sequence[str] | None = None,
    window: tuple[float, float] = WINDOW,
    filters: Mapping[str, Any] | str | None = "default",
    where: Mapping[str, Any] | None = None,
    keep_blanks: bool | None = None,
    closed: str = "left",
    drop_invalid: bool = True,
) -> Trials:
    """Read spike counts of a session of the Allen Institute's Visual Coding with Neuropixels.

    The same as `read_nwb`, with the quality filter of the AllenSDK and with the columns of each
    stimulus filled in. The filter keeps units of quality "good" with amplitude_cutoff <= 0.1,
    presence_ratio >= 0.95 and isi_violations <= 0.5, whose peak channel has valid data and a
    location.

    Parameters
    ----------
    path : path or Recording
        A session in HDF5 or Zarr, or what `open_nwb` returns.
    stimulus : str
        Such as "natural_scenes", "static_gratings", "drifting_gratings".
    area : str, list of str or None
        Acronyms of structures; None for the whole brain.
    condition : str or list of str, optional
        By default "frame" for natural scenes and movies, "orientation" for static
        gratings, "orientation" and "temporal_frequency" for drifting gratings, "color" for
        flashes, and position and orientation for Gabors.
    window : (start, stop)
        In seconds after the onset; by default that of Duong et al. (2023). Static gratings and
        scenes last 0.25 seconds, drifting gratings 2 seconds.
    filters : "default", dict or None
        Rules that replace the default filter, as in `read_nwb`; None keeps all units. To change
        a limit, pass ``{**rs.io.ALLEN_FILTERS, "presence_ratio": (0.9, None)}``.
    where : dict, optional
        Presentations to keep, as in `read_nwb`.
    keep_blanks : bool, optional
        Whether blanks form the condition "blank". By default they do for natural scenes, as in
        Duong et al. (2023), who had 119 conditions of 118 images and the blank, and for no other
        stimulus.
    closed, drop_invalid
        As in `read_nwb`.

    Returns
    -------
    Trials

    Notes
    -----
    Duong et al. (2023) compare responses to 6 orientations with 50 repeats. The static gratings
    have about 50 repeats of each of 120 combinations of orientation, spatial frequency and phase.
    So there are three ways to read them: all presentations of an orientation (the default, about
    970 trials of each); one spatial frequency and phase, as ``where={"spatial_frequency": 0.04,
    "phase": 0}``; or all combinations, as ``condition=["orientation", "spatial_frequency",
    "phase"]``.
    """
    with opened(path) as recording:
        return count_allen(
            recording,
            stimulus,
            area,
            condition=condition,
            window=window,
            filters=filters,
            where=where,
            keep_blanks=keep_blanks,
            closed=closed,
            drop_invalid=drop_invalid,
        ).trials


def count_allen(
    recording: Recording,
    stimulus: str = "natural_scenes",
    area: str | Sequence[str] | None = "VISp",
    *,
    condition: str | Sequence[str] | None = None,
    window: tuple[float, float] = WINDOW,
    filters: Mapping[str, Any] | str | None = "default",
    keep_blanks: bool | None = None,
    **options: Any,
) -> SpikeCounts:
    """Count spikes with the settings of the data set where none are given."""
    known = STIMULI.get(str(stimulus).removesuffix("_presentations"))
    if isinstance(filters, str) and filters != "default":
        raise InputTypeError(
            f"The 'filters' parameter must be 'default', a dict of rules or None. Got {filters!r}."
        )
    if known is None:
        known = _unknown(recording, stimulus, condition)
    return recording.count_spikes(
        stimulus,
        known.condition if condition is None else condition,
        area=area,
        window=window,
        filters=ALLEN_FILTERS if isinstance(filters, str) else filters,
        keep_blanks=known.keep_blanks if keep_blanks is None else keep_blanks,
        blank_when=known.blank_when,
        **options,
    )


def _unknown(recording: Recording, stimulus: str, condition: Any) -> Stimulus:
    """Return the settings of a stimulus that needs its condition columns from the user."""
    columns = recording.presentations(stimulus).columns  # raises if there is none
    if condition is None:
        raise InputError(
            f"The stimulus {stimulus!r} has no default conditions. Name its columns with "
            f"'condition'. They are {', '.join(map(repr, columns))}."
        )
    return Stimulus(())
