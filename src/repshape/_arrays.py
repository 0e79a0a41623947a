"""Validation of arrays: real, finite and read-only, with errors that say where one is not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._tensors import to_numpy
from repshape.errors import InputError, InputTypeError, WrappedIntegersWarning, warn_user

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Labels = tuple[str, ...] | None

TOLERANCE = 1e-8
"""Asymmetry or negative eigenvalues up to this fraction of a covariance's scale are rounding."""

SCALE_FLOOR = 1e-6
"""The scale of a covariance is at least this fraction of the largest in the network: what a
condition without noise contains are rounding errors of the others."""


ORDINARY_DIGITS = 128
"""Numbers with at most this many binary digits before or after the point are not extreme."""


def real_array(value: Any, what: str, *, check: bool = True) -> npt.NDArray[Any]:
    """Return ``value`` as an array with a real dtype; masked entries become NaN.

    With ``check``, warn of integers that seem to have wrapped around.
    """
    try:
        plain = to_numpy(value)
        array = plain if isinstance(plain, np.ma.MaskedArray) else np.asarray(plain)
    except InputTypeError as error:
        raise InputTypeError(f"The {what} cannot be used. {error}") from None
    except (TypeError, ValueError, RuntimeError):
        raise InputTypeError(f"The {what} must form one rectangular array of numbers.") from None
    if array.dtype.kind not in "fiub":
        hint = " Pass ragged data as a list of arrays." if array.dtype.kind == "O" else ""
        raise InputTypeError(
            f"The {what} must be real numbers. Got an array of dtype {array.dtype} instead.{hint}"
        )
    if check:
        warn_if_wrapped([array], what)
    if isinstance(array, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(array.astype(np.float64), np.nan))
    return array


def warn_if_wrapped(arrays: Sequence[Any], what: str) -> None:
    """Warn of unsigned integers next to their type's maximum, with none between them and the rest.

    Images fill the range between, and masks consist of 0 and the maximum only.
    """
    if not arrays or any(getattr(one, "dtype", np.dtype(float)).kind != "u" for one in arrays):
        return
    array = np.concatenate([np.ravel(one) for one in arrays])
    top = int(np.iinfo(array.dtype).max)
    if not array.size or array.max() <= top - top // 16:
        return
    high = array > top - top // 16
    wrapped, rest = array[high], array[~high]
    largest = int(rest.max(initial=0))
    if largest > top // 4 or (largest == 0 and wrapped.min() == top):
        return
    low = int(wrapped.min())
    warn_user(
        f"The {what} hold values from {low} to {int(wrapped.max())} of type {array.dtype}, whose "
        f"maximum is {top}, and others up to {largest}. Differences of unsigned integers wrap "
        f"around: {low} may stand for {low - top - 1}. Convert to float before you subtract.",
        WrappedIntegersWarning,
    )


def float_array(value: Any, what: str) -> FloatArray:
    """Return ``value`` as read-only float64; it is copied unless it is already read-only."""
    array = real_array(value, what)
    if array.dtype == np.float64 and array.flags.c_contiguous and _is_read_only(array):
        return np.asarray(array, dtype=np.float64)
    with np.errstate(over="ignore"):  # an overflow becomes infinite, which is reported later
        return frozen(np.array(array, dtype=np.float64, order="C"))


def converted(
    array: FloatArray, dtype: npt.DTypeLike | None, copy: bool | None
) -> npt.NDArray[Any]:
    """Return what ``__array__`` must return for an object whose numbers are in an array."""
    if copy:
        return np.array(array, dtype=dtype)
    found = np.asarray(array, dtype=dtype)
    if copy is False and found is not array:
        raise ValueError(f"A copy is needed to change the dtype from {array.dtype}.")
    return found


def frozen(array: FloatArray) -> FloatArray:
    """Make an array read-only, and return it. Only for arrays that we own."""
    array.flags.writeable = False
    return array


def symmetrized(matrices: FloatArray) -> FloatArray:
    """Return (S + S') / 2, to remove the asymmetry that rounding leaves in products."""
    total = np.add(matrices, matrices.swapaxes(-1, -2), order="C")
    return np.multiply(total, 0.5, out=total)


def _is_read_only(array: npt.NDArray[Any]) -> bool:
    """Whether neither the array nor any array that it views can be written to."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return True


def check_finite(array: FloatArray, what: str, axes: tuple[str, ...]) -> None:
    """Raise an error that names the first NaN or infinite entry by its axes."""
    finite = np.isfinite(array)
    if not finite.all():
        index = tuple(np.argwhere(~finite)[0])
        where = ", ".join(f"{axis} {i}" for axis, i in zip(axes, index, strict=True))
        raise InputError(f"The {what} must be finite. Got {array[index]} at {where}.")


def extreme_unit(*arrays: FloatArray, digits: int = ORDINARY_DIGITS) -> float:
    """Return a power of two to divide numbers by, whose squares would overflow or vanish.

    It is 1 unless the largest number has more binary ``digits`` than that before or after the
    point.

    >>> extreme_unit(np.array([3.0, -1e30])), extreme_unit(np.array([-1e-200])) < 2e-200
    (1.0, True)
    """
    ends = [(one.max(initial=0.0), -one.min(initial=0.0)) for one in arrays]
    largest = float(max(map(max, ends), default=0.0))
    exponent = int(np.frexp(largest)[1]) - 1
    return 1.0 if abs(exponent) <= digits or largest == 0 else float(2.0**exponent)


def check_moderate(
    array: FloatArray, name: str, who: str = "Intervals and tests square squared distances, and"
) -> None:
    """Raise if the squares of squares of some responses would overflow, or all of them vanish."""
    if extreme_unit(array) != 1:
        raise InputError(
            f"{who} need responses between 1e-38 and 1e38. The largest is "
            f"{np.abs(array).max():.3g} in {name}. Divide the responses of all networks by the "
            "same number."
        )


def condition_weights(weights: npt.ArrayLike | None, n_conditions: int) -> FloatArray:
    """Return one non-negative weight per condition, with sum 1; uniform by default.

    >>> condition_weights([1, 3], 2)
    array([0.25, 0.75])
    """
    if weights is None:
        return frozen(np.full(n_conditions, 1.0 / n_conditions))
    values = float_array(weights, "weights")
    if values.shape != (n_conditions,):
        raise InputError(
            f"The weights must have one entry per condition, shape ({n_conditions},). "
            f"Got shape {values.shape} instead."
        )
    check_finite(values, "weights", ("condition",))
    if values.min() < 0:
        m = int(np.argmin(values))
        raise InputError(f"The weights must not be negative. Got {values[m]:g} at condition {m}.")
    largest = values.max()
    if largest == 0:
        raise InputError("At least one of the weights must be positive. Got only zeros.")
    values = values / largest  # so that the sum cannot overflow
    return frozen(values / values.sum())


def name_condition(m: int, labels: Labels) -> str:
    """Return ``condition 3``, or ``condition 3 ('label')``."""
    return f"condition {m}" if labels is None else f"condition {m} ({labels[m]!r})"


def count(number: int, noun: str) -> str:
    """Return ``1 trial``, ``2 trials``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def pool_trials(responses: Any) -> tuple[FloatArray, IntArray]:
    """Return all trials as rows, and the number of trials of each condition."""
    if isinstance(responses, list | tuple):
        arrays = [
            real_array(one, f"trials of condition {m}", check=False)
            for m, one in enumerate(responses)
        ]
        _check_ragged(arrays)
        warn_if_wrapped(arrays, "trials")
        counts = np.array([len(one) for one in arrays], dtype=np.intp)
        with np.errstate(over="ignore"):  # an overflow becomes infinite, which is reported later
            pooled = np.concatenate(arrays, axis=0, dtype=np.float64)
        return np.ascontiguousarray(pooled), counts  # sums depend on the order in memory
    array = float_array(responses, "trials")
    if array.ndim != 3:
        raise InputError(
            "The trials must be an array of shape (conditions, trials, neurons), or a list of "
            f"arrays of shape (trials, neurons). Got an array of shape {array.shape} instead."
        )
    _check_sizes(array.shape[0], array.shape[2])
    n_conditions, n_trials, n_neurons = array.shape
    counts = np.full(n_conditions, n_trials, dtype=np.intp)
    return array.reshape(n_conditions * n_trials, n_neurons), counts


def _check_ragged(arrays: list[npt.NDArray[Any]]) -> None:
    for m, array in enumerate(arrays):
        if array.ndim != 2:
            raise InputError(
                f"The trials of condition {m} must have shape (trials, neurons). "
                f"Got shape {array.shape} instead."
            )
        if array.shape[1] != arrays[0].shape[1]:
            raise InputError(
                "Every condition must have the same neurons. Condition 0 has "
                f"{arrays[0].shape[1]} and condition {m} has {array.shape[1]}."
            )
    _check_sizes(len(arrays), arrays[0].shape[1] if arrays else 0)


def _check_sizes(n_conditions: int, n_neurons: int) -> None:
    if n_conditions == 0:
        raise InputError("A network must have at least one condition. Got none.")
    if n_neurons == 0:
        raise InputError("A network must have at least one neuron. Got none.")


def drop_missing(rows: FloatArray, counts: IntArray, labels: Labels) -> tuple[FloatArray, IntArray]:
    """Drop the rows that are all NaN, and raise if there is any other NaN or infinity."""
    bad = ~np.isfinite(rows)
    if not bad.any():
        return rows, counts.copy()
    condition = np.repeat(np.arange(len(counts)), counts)
    missing = np.isnan(rows).all(axis=1)
    bad[missing] = False
    if bad.any():
        row, neuron = np.argwhere(bad)[0]
        m = int(condition[row])
        where = f"{name_condition(m, labels)}, trial {row - counts[:m].sum()}, neuron {neuron}"
        if np.isinf(rows[row, neuron]):
            raise InputError(f"The trials must be finite. Got {rows[row, neuron]} at {where}.")
        if np.isnan(rows[~missing, neuron]).all():
            raise InputError(
                f"Neuron {neuron} is NaN in every trial. Remove it from the responses of the "
                "network: it was not recorded."
            )
        raise InputError(
            f"A neuron must not be NaN in some trials only. Got NaN at {where}. Set the whole "
            "trial to NaN to drop the trial, or remove the neuron from every condition."
        )
    dropped = np.bincount(condition[missing], minlength=len(counts)).astype(np.intp)
    return rows[~missing], counts - dropped


def check_means(means: npt.ArrayLike) -> FloatArray:
    """Return means as a finite array (M, n)."""
    array = float_array(means, "means")
    if array.ndim != 2:
        raise InputError(
            f"The means must have shape (conditions, neurons). Got shape {array.shape} instead."
        )
    _check_sizes(*array.shape)
    check_finite(array, "means", ("condition", "neuron"))
    return array


def check_factors(factors: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return factors as a finite array (M, n, r), where ``shape`` is (M, n)."""
    if isinstance(factors, list | tuple):
        arrays = [real_array(one, f"factor of condition {m}") for m, one in enumerate(factors)]
        factors = _pad_factors(arrays, shape)
    array = float_array(factors, "factors")
    if array.ndim != 3 or array.shape[:2] != shape:
        raise InputError(
            f"The factors must have shape ({shape[0]}, {shape[1]}, r), to match the means. "
            f"Got shape {array.shape} instead."
        )
    check_finite(array, "factors", ("condition", "neuron", "column"))
    return array


def _pad_factors(arrays: list[npt.NDArray[Any]], shape: tuple[int, ...]) -> FloatArray:
    """Return factors (n, r_m) as one array, padded with columns of zeros."""
    if len(arrays) != shape[0]:
        raise InputError(
            f"There must be one factor per condition. Got {count(len(arrays), 'factor')} for "
            f"{count(shape[0], 'condition')}."
        )
    for m, array in enumerate(arrays):
        if array.ndim != 2 or array.shape[0] != shape[1]:
            raise InputError(
                f"The factor of condition {m} must have shape ({shape[1]}, r). "
                f"Got shape {array.shape} instead."
            )
    padded = np.zeros((*shape, max(array.shape[1] for array in arrays)))
    for m, array in enumerate(arrays):
        padded[m, :, : array.shape[1]] = array
    return frozen(padded)


def check_covariances(matrices: FloatArray, labels: Labels) -> FloatArray:
    """Return exactly symmetric covariances (M, n, n), or raise if one is not a covariance."""
    check_finite(matrices, "covariances", ("condition", "row", "column"))
    scale = _scales(np.abs(matrices).max(axis=(1, 2)))
    asymmetry = np.abs(matrices - matrices.transpose(0, 2, 1)).max(axis=(1, 2))
    bad = np.flatnonzero(asymmetry > TOLERANCE * scale)
    if bad.size:
        raise InputError(
            f"The covariance of {name_condition(bad[0], labels)} must be symmetric. "
            f"It differs from its transpose by {asymmetry[bad[0]]:.3g}."
        )
    if asymmetry.any():
        matrices = symmetrized(matrices)
    _check_semidefinite(matrices, scale, labels)
    return matrices


def _check_semidefinite(matrices: FloatArray, scale: FloatArray, labels: Labels) -> None:
    """Raise if an eigenvalue is below ``-TOLERANCE`` times the scale of its covariance.

    If none is, ``S / scale + TOLERANCE * I`` has a Cholesky factor, which takes a tenth of the time
    of the eigenvalues. Those are computed only for the error.
    """
    unit = matrices / scale[:, None, None]
    try:
        np.linalg.cholesky(unit + TOLERANCE * np.eye(matrices.shape[1]))
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(unit)[:, 0]
        m = int(np.argmin(smallest))
        if smallest[m] < -TOLERANCE:
            raise InputError(
                f"The covariance of {name_condition(m, labels)} must be positive semi-definite. "
                f"Its smallest eigenvalue is {smallest[m] * scale[m]:.3g}."
            ) from None


def check_variances(variances: FloatArray, labels: Labels) -> FloatArray:
    """Return variances (M, n), with rounding below zero removed, or raise if one is negative."""
    check_finite(variances, "variances", ("condition", "neuron"))
    if variances.min() >= 0:
        return variances
    scale = _scales(np.abs(variances).max(axis=1))
    bad = np.argwhere(variances < -TOLERANCE * scale[:, None])
    if bad.size:
        m, i = bad[0]
        raise InputError(
            f"The variances must not be negative. "
            f"Got {variances[m, i]:.3g} at {name_condition(m, labels)}, neuron {i}."
        )
    return frozen(np.maximum(variances, 0.0))


def _scales(largest: FloatArray) -> FloatArray:
    """Return the scale of each covariance, from its largest entry; 1 if there is no noise."""
    floor = SCALE_FLOOR * largest.max()
    return np.maximum(largest, floor) if floor > 0 else np.ones_like(largest)


def digest(kind: str, *arrays: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of a word and of the dtypes, shapes and bytes of arrays."""
    state = hashlib.sha256(kind.encode())
    for array in arrays:
        state.update(f"|{array.dtype.str}{array.shape}|".encode())
        flat = np.ascontiguousarray(array)
        state.update(flat.data if flat.size else b"")
    return state.hexdigest()
