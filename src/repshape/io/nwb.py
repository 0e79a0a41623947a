"""Trials from NWB files (Neurodata Without Borders)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from repshape.io.nwb_recording import PathLike, Recording
from repshape.responses import Trials


def open_nwb(path: PathLike) -> Recording:
    """Open an NWB file, to read several stimuli or areas from it.

    Parameters
    ----------
    path : path
        An NWB file in HDF5, or a folder in Zarr (``.nwb.zarr``).

    Returns
    -------
    Recording
        Close it, or use it in a ``with`` statement:
        ``with rs.io.open_nwb(path) as recording: rs.io.read_nwb(recording, ...)``.
    """
    return Recording(path)


def read_nwb(
    path: PathLike | Recording,
    stimulus: str,
    condition: str | Sequence[str],
    *,
    area: str | Sequence[str] | None = None,
    window: tuple[float, float] | None = None,
    filters: Mapping[str, Any] | None = None,
    where: Mapping[str, Any] | None = None,
    keep_blanks: bool = False,
    blank_when: Mapping[str, Any] | None = None,
    closed: str = "left",
    drop_invalid: bool = True,
) -> Trials:
    """Count the spikes of each unit in a window after the onset of each presentation.

    Only the spikes of one chosen unit are in memory at a time. `open_nwb` and
    `Recording.count_spikes` give the same trials with a report of the units and presentations
    that were left out.

    Parameters
    ----------
    path : path or Recording
        An NWB file in HDF5, a folder in Zarr (``.nwb.zarr``), or what `open_nwb` returns.
    stimulus : str
        A table of intervals in the file, such as ``"trials"``, or ``"natural_scenes"`` for
        ``natural_scenes_presentations``.
    condition : str or list of str
        The columns of this table that tell conditions apart. Conditions are sorted by the first
        column, then by the next; numbers, and text that reads as a number, in ascending order. With
        one column, the labels are its values; with several, they read ``"orientation=30,
        phase=0.5"``.
    area : str or list of str, optional
        Keep the units whose electrode is at this location, or in a part of it that is written
        after a hyphen (``"LGd"`` includes ``"LGd-sh"``). The electrode of a unit is that of
        its ``peak_channel_id``, or else the one in its column ``electrodes``. A unit with
        electrodes in several areas has no area.
    window : (start, stop)
        In seconds after the onset. There is no default: without a window, the error shows how long
        the presentations last.
    filters : dict, optional
        Keep the units that obey all rules, by column of the units, or of their electrodes. A rule
        is a value, a list of values, a range ``(low, high)`` that includes its ends and has None
        where there is no limit, or a function of a value. NaN is in no range.
    where : dict, optional
        Keep the presentations that obey all rules, by column of the stimulus.
    keep_blanks : bool
        Whether blank presentations form a condition of their own, ``"blank"``, which comes last. By
        default they are left out.
    blank_when : dict, optional
        What marks a presentation as blank: a value by column, besides NaN and empty text. By
        default, a presentation is blank if it has no value in any of the condition columns.
    closed : {"left", "both"}
        Whether a spike exactly at the end of the window counts: not by default, as in
        `Trials.from_spikes`; with "both", as in the AllenSDK.
    drop_invalid : bool
        Whether to drop trials in ``invalid_times``: those of the stimulus, of all
        probes, or of a probe with chosen units; and trials during which a chosen unit was not
        observed, by ``obs_intervals``. ``n_dropped`` of the trials counts them.

    Returns
    -------
    Trials
        The neurons are named after the ids of their units.

    Warns
    -----
    OneTrialWarning
        If a condition has a single trial.
    WindowWarning
        If the window runs into the next presentation or ends after its own, or if next to no
        spikes are between the first and the last presentation.

    Examples
    --------
    >>> import tempfile
    >>> from datetime import datetime, timezone
    >>> import pynwb
    >>> file = pynwb.NWBFile(
    ...     session_description="example",
    ...     identifier="a",
    ...     session_start_time=datetime(2024, 1, 1, tzinfo=timezone.utc),
    ... )
    >>> file.add_trial_column(name="image", description="what was shown")
    >>> for k, image in enumerate(["dog", "cat", "cat", "dog"]):
    ...     file.add_trial(start_time=float(k), stop_time=k + 0.5, image=image)
    >>> file.add_unit(id=7, spike_times=[0.1, 1.1, 1.2, 1.25, 2.2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with pynwb.NWBHDF5IO(f"{folder}/a.nwb", "w") as io:
    ...         io.write(file)
    ...     trials = read_nwb(f"{folder}/a.nwb", "trials", "image", window=(0, 0.25))
    >>> trials
    Trials(2 conditions, 2 trials each, 1 neuron, window 0 to 0.25 s)
    >>> trials["cat"].ravel(), trials.neurons
    (array([2., 1.]), ('7',))
    """
    with opened(path) as recording:
        return recording.count_spikes(
            stimulus,
            condition,
            area=area,
            window=window,
            filters=filters,
            where=where,
            keep_blanks=keep_blanks,
            blank_when=blank_when,
            closed=closed,
            drop_invalid=drop_invalid,
        ).trials


@contextmanager
def opened(source: PathLike | Recording) -> Iterator[Recording]:
    """Yield a recording; one that was opened here is closed again."""
    if isinstance(source, Recording):
        yield source
    else:
        with Recording(source) as recording:
            yield recording
