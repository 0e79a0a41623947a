"""The sentence and the picture of every page of evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.markers import number
from benchmarks.openings import GUIDE, LEGEND, Opening, dots, lines
from benchmarks.stamps import load
from repshape.plots import PALETTE

Data = dict[str, Any]
IMAGE_CLASSES = ("natural", "synthetic")


# Speed and accuracy


def speed() -> Data:
    keep = ("workload", "netrep_s", "one_start_s", "auto_s")
    rows = [{key: row[key] for key in keep} for row in load("solver")["pairs"]]
    (found,) = [row for row in load("planted_final")["cells"] if row["family"] == "all"]
    return {"rows": rows, "planted": {key: found[key] for key in ("pairs", "missed_%")}}


def say_speed(data: Data) -> str:
    planted = data["planted"]
    missed = round(planted["missed_%"] * planted["pairs"] / 100)
    return (
        "A pair is {{ times_faster }} than in netrep from one start and "
        "{{ times_faster_default }} with the "
        f"default search, which missed {missed} of {planted['pairs']} planted alignments."
    )


def draw_speed(axes: Any, data: Data) -> None:
    rows = data["rows"]
    names = [row["workload"].split(":")[0] for row in rows]
    sizes = [", ".join(row["workload"].split(": ")[1].split(", ")[:2]) for row in rows]
    dots(
        axes,
        [f"{name}\n{size}" for name, size in zip(names, sizes, strict=True)],
        {
            "one start": [row["one_start_s"] for row in rows],
            "default": [row["auto_s"] for row in rows],
            "netrep": [row["netrep_s"] for row in rows],
        },
    )
    axes.set(xscale="log", xlabel="time of a pair, s")


# Families with few trials


def families(n: str = "10") -> Data:
    cells = [
        [one.strip() for one in line.split("|")[1:-1]] for line in load("families")["different"]
    ]
    found = {row[1]: [float(one) for one in row[2:]] for row in cells[2:] if row[0] == n}
    return {"trials": [int(one.split("=")[1]) for one in cells[0][2:]], "curves": found}


def say_families(data: Data) -> str:
    at = data["trials"].index(20)
    gaussian, energy, wasserstein = (
        data["curves"][name][at] for name in ("Gaussian", "energy, u", "Wasserstein")
    )
    return (
        f"With 10 neurons and 20 trials, the plug-in Gaussian distance is {gaussian:.2f} times "
        "the truth, the sample "
        f"Wasserstein distance {wasserstein:.2f} times, and the unbiased energy distance "
        f"{energy:.2f} times."
    )


def draw_families(axes: Any, data: Data) -> None:
    axes.axhline(1, color=GUIDE, linewidth=0.8)
    lines(axes, data["trials"], data["curves"])
    axes.set(xscale="log", xlabel="trials per condition", ylabel="estimate / truth, 10 neurons")
    axes.set_xticks(data["trials"], [str(one) for one in data["trials"]], minor=False)
    axes.minorticks_off()


# Time series


def processes() -> Data:
    keep = ("trials", "mode", "plug_in", "corrected")
    return {"rows": [{key: row[key] for key in keep} for row in load("process")["bias"]]}


def say_processes(data: Data) -> str:
    (row,) = [r for r in data["rows"] if r["trials"] == 50 and r["mode"] == "joint"]
    signed = f"{row['corrected']:.1f}".replace("-", "−")
    return (
        "Two samples of the same system, with 50 trials each, have a squared distance of "
        f"{row['plug_in']:.0f} in the joint "
        f"mode; corrected by halves it is {signed} on average, where 0 is right."
    )


def draw_processes(axes: Any, data: Data) -> None:
    modes = list(dict.fromkeys(row["mode"] for row in data["rows"]))
    for mode, colour in zip(modes, PALETTE, strict=False):
        rows = [row for row in data["rows"] if row["mode"] == mode]
        for key, shape in (("plug_in", "o-"), ("corrected", "s:")):
            found = [(row["trials"], row[key]) for row in rows if row[key] is not None]
            label = f"{mode}, {'plug-in' if key == 'plug_in' else 'corrected'}"
            axes.plot(*zip(*found, strict=True), shape, color=colour, label=label)
    axes.axhline(0, color=GUIDE, linewidth=0.8)
    axes.set(xscale="log", xlabel="trials per condition", ylabel="squared distance (truth: 0)")
    trials = sorted({row["trials"] for row in data["rows"]})
    axes.set_xticks(trials, [str(one) for one in trials])
    axes.minorticks_off()
    axes.legend(**LEGEND)


# netrep


def netrep() -> Data:
    found = load("netrep")
    same = max(abs(row["theirs"] / row["ours"] - 1) for row in found["same"])
    return {"alpha": found["alpha"], "same": same, "metrics": len(found["same"])}


def say_netrep(data: Data) -> str:
    worst = max(row["default_mean"] for row in data["alpha"])
    return (
        f"All {data['metrics']} metrics that both packages have give the same numbers to "
        f"{number(data['same'], 1)}; where its fit minimises another "
        f"function or one start is too few, its distances are up to {worst:.1f} % longer than "
        "ours on average."
    )


def draw_netrep(axes: Any, data: Data) -> None:
    rows = data["alpha"]
    curves = {"our default": "default_mean", "the same start": "same_mean"}
    found = {name: [row[key] for row in rows] for name, key in curves.items()}
    lines(axes, [row["alpha"] for row in rows], found)
    axes.legend(frameon=False, title="netrep against")
    axes.set(xlabel="alpha", ylabel="netrep's distance is\nlonger by, % (mean of 20 pairs)")


# Chance


def baselines() -> Data:
    keep = ("measure", "n_neurons", "share", "raw")
    return {"size": [{key: row[key] for key in keep} for row in load("calibrated")["size"]]}


def say_baselines(data: Data) -> str:
    rows = data["size"]
    (raw,) = [r["raw"] for r in rows if r["measure"] == "cka" and r["n_neurons"] == 1000]
    shares = [100 * row["share"] for row in rows]
    return (
        f"Unrelated networks with 1000 neurons have a CKA of {raw:.2f}; calibrated scores of "
        "such networks are positive in "
        f"{min(shares):.1f} to {max(shares):.1f} % of simulations (5 % nominal)."
    )


def draw_baselines(axes: Any, data: Data) -> None:
    measures = list(dict.fromkeys(row["measure"] for row in data["size"]))
    neurons = sorted({row["n_neurons"] for row in data["size"]})
    found = {
        name: [row["raw"] for row in data["size"] if row["measure"] == name] for name in measures
    }
    lines(axes, neurons, found)
    axes.axhline(0, color=GUIDE, linewidth=0.8)
    axes.set(xscale="log", xlabel="neurons", ylabel="similarity of unrelated networks")
    axes.set_xticks(neurons, [str(one) for one in neurons])
    axes.minorticks_off()


# Intervals


def intervals() -> Data:
    from benchmarks.inference_tables import CELL_KEYS
    from benchmarks.interval_cells import FRESH
    from benchmarks.interval_tables import cell_table, pooled_table

    results = load("inference")
    cells = [[str(row[0]), int(row[1]), float(row[5])] for row in cell_table(results, CELL_KEYS)]
    pooled = pooled_table(results, FRESH, "fresh")[0]
    return {"cells": cells, "pooled": [str(one) for one in pooled[1:4]]}


def say_intervals(data: Data) -> str:
    settings, simulations, coverage = data["pooled"]
    name, _, lowest = min(data["cells"], key=lambda cell: cell[2])
    return (
        f"Of {simulations} intervals between different networks with at least 20 trials, "
        f"{100 * float(coverage):.1f} % contain "
        f"the truth ({settings} settings, 90 % nominal); the lowest coverage of a setting is "
        f"{100 * lowest:.0f} % ({name})."
    )


def draw_intervals(axes: Any, data: Data) -> None:
    from scipy.stats import beta

    cells = sorted(data["cells"], key=lambda cell: cell[2])
    at = np.arange(len(cells))
    shares, counts = (np.array([cell[k] for cell in cells]) for k in (2, 1))
    hits = np.round(shares * counts)
    low = beta.ppf(0.05, hits, counts - hits + 1)
    high = np.where(hits == counts, 1.0, beta.ppf(0.95, hits + 1, np.maximum(counts - hits, 1e-9)))
    axes.vlines(at, low, high, color=PALETTE[0], linewidth=1, alpha=0.6)
    axes.plot(at, shares, "o", color=PALETTE[0])
    axes.axhline(0.9, color=GUIDE, linewidth=0.8)
    end = len(cells) - 0.5
    axes.text(end, 0.895, "nominal", fontsize=7, color="#666666", ha="right", va="top")
    axes.set(
        xlabel=f"{len(cells)} settings, by coverage",
        ylabel="share of intervals that\ncontain the truth",
    )
    axes.set_xticks([])


# Comparisons of models


def models() -> Data:
    from benchmarks.model_designs import TARGETS
    from benchmarks.models import CEILINGS, LEVEL, hits

    found = load("models_final")
    related = {name: one for name, one in found.items() if "unrelated" not in name}
    covered = [
        [f"{what}, {name}", len(one["rows"]), hits(one, what) / len(one["rows"])]
        for name, one in related.items()
        for what in (*TARGETS, *CEILINGS)
    ]
    wrong = {
        name: sum(row["equal"][0] <= LEVEL for row in one["rows"]) / len(one["rows"])
        for name, one in related.items()
    }
    return {"cells": covered, "wrong": wrong}


def say_models(data: Data) -> str:
    shares = [100 * share for _, _, share in data["cells"]]
    wrong = [100 * share for share in data["wrong"].values()]
    return (
        f"Between {min(shares):.0f} and {max(shares):.0f} % of 90 % intervals of models and "
        f"ceilings contain the truth ({len(shares)} settings), and models at equal distances are "
        f"found to differ in {min(wrong):.0f} to {max(wrong):.1f} % of simulations (5 % nominal)."
    )


# Large jobs


def jobs() -> Data:
    from benchmarks.price import hours

    rows = load("price")["rows"]
    return {"rows": [[row["job"], row["alpha"], hours(row, 2)] for row in rows]}


def say_jobs(data: Data) -> str:
    del data  # both numbers are facts that other pages state, too
    return (
        "All 1 619 100 distances between 1800 trained VAEs take {{ vae_hours }} for each alpha "
        "below 2, and those between "
        "random latents {{ random_vae_hours }}."
    )


def draw_jobs(axes: Any, data: Data) -> None:
    kinds = list(dict.fromkeys(job for job, _, _ in data["rows"]))
    for kind, colour in zip(kinds, PALETTE, strict=False):
        found = [(alpha, value) for job, alpha, value in data["rows"] if job == kind]
        axes.plot(*zip(*found, strict=True), "o-", color=colour, label=kind)
    axes.set(yscale="log", xlabel="alpha", ylabel="hours on two cores")
    axes.legend(**LEGEND)


# Neighbours


def neighbors() -> Data:
    keep = ("cohort", "networks", "k", "solved_%")
    rows = [row for row in load("neighbors")["rows"] if row["alpha"] == 1]
    scale = load("neighbors_scale")
    large = {key: scale[key] for key in ("networks", "pairs", "pairs_of_neighbours", "k")}
    return {"rows": [{key: row[key] for key in keep} for row in rows], "large": large}


def say_neighbors(data: Data) -> str:
    (row,) = [r for r in data["rows"] if r["cohort"] == "vae" and r["k"] == 5]
    large = data["large"]
    share = 100 * large["pairs_of_neighbours"] / large["pairs"]
    return (
        f"The five nearest neighbours of {row['networks']} VAEs need {row['solved_%']:.1f} % of "
        "all pairs at alpha = 1, and the "
        f"ten nearest of {large['networks']} networks in families {share:.2f} %; the results are "
        "exact."
    )


def draw_neighbors(axes: Any, data: Data) -> None:
    kinds = {"toy": "toy networks", "vae": "VAEs", "v1": "macaque V1"}
    found = {}
    for cohort, name in kinds.items():
        rows = [row for row in data["rows"] if row["cohort"] == cohort]
        found[f"{name} ({rows[0]['networks']})"] = [row["solved_%"] for row in rows]
    neighbours = sorted({row["k"] for row in data["rows"]})
    lines(axes, neighbours, found)
    axes.set(xlabel="neighbours k", ylabel="pairs solved, %", ylim=(0, 100))
    axes.set_xticks(neighbours)


# Repair


def repaired() -> Data:
    keep = ("case", "networks", "cpu_seconds")
    return {"rows": [{key: row[key] for key in keep} for row in load("repair")["repair"]]}


def say_repaired(data: Data) -> str:
    largest = max(row["networks"] for row in data["rows"])
    times = [row["cpu_seconds"] for row in data["rows"] if row["networks"] == largest]
    return (
        f"The nearest metric to a noisy matrix of {largest} networks takes {min(times):.0f} to "
        f"{max(times):.0f} s on one core, "
        "except for points on a line, where nearly every triangle is degenerate."
    )


def draw_repaired(axes: Any, data: Data) -> None:
    for case, colour in zip(dict.fromkeys(r["case"] for r in data["rows"]), PALETTE, strict=False):
        found = [(r["networks"], r["cpu_seconds"]) for r in data["rows"] if r["case"] == case]
        axes.plot(*zip(*found, strict=True), "o-", color=colour, label=case)
    axes.set(xscale="log", yscale="log", xlabel="networks", ylabel="processor time, s")
    sizes = sorted({row["networks"] for row in data["rows"]})
    axes.set_xticks(sizes, [str(one) for one in sizes])
    axes.minorticks_off()
    axes.legend(**LEGEND)


# Layers and macaque V1


def macaque() -> Data:
    saved = load("macaque_models")
    first = "none-seed0: "
    found: Data = {
        name: {
            key.removeprefix(first): row[:3]  # distance and 90 % interval
            for key, row in saved[name]["models"].items()
            if key.startswith(first) or key == "pixels"
        }
        for name in IMAGE_CLASSES
    }
    return found | {key: saved["natural"][key] for key in ("monkeys", "smallest_p_value")}


def say_macaque(data: Data) -> str:
    nearest = [min(data[name], key=lambda key: data[name][key][0]) for name in IMAGE_CLASSES]
    limit = number(data["smallest_p_value"])
    return (
        f"Nearest to V1 is {nearest[0]} for natural and {nearest[1]} for synthetic images, but "
        f"{data['monkeys']} monkeys cannot show that layers differ: no p-value can be below "
        f"{limit}."
    )


def draw_macaque(axes: Any, data: Data) -> None:
    names = list(data["natural"])
    for step, (name, colour) in enumerate(zip(IMAGE_CLASSES, PALETTE, strict=False)):
        rows = np.array([data[name][one] for one in names])
        below, above = rows[:, 0] - rows[:, 1], rows[:, 2] - rows[:, 0]
        x = np.arange(len(names)) + 0.15 * (2 * step - 1)
        axes.errorbar(x, rows[:, 0], [below, above], fmt="o", color=colour, label=name)
    axes.set_xticks(range(len(names)), [one.replace(" ", "\n") for one in names])
    axes.set_ylabel("distance from V1")
    axes.legend(frameon=False, loc="upper center", ncol=2)


OPENINGS = {
    one.page: one
    for one in (
        Opening(
            "evidence/benchmarks.md",
            speed,
            say_speed,
            "Time of a pair on a logarithmic axis for each workload: repshape from one start, "
            "repshape by default, and netrep",
            draw_speed,
        ),
        Opening(
            "evidence/families.md",
            families,
            say_families,
            "Estimate divided by truth against trials per condition, one curve for each "
            "estimator, and a line at 1, which is right",
            draw_families,
        ),
        Opening(
            "evidence/processes.md",
            processes,
            say_processes,
            "Squared distance of two samples of one system against trials, plug-in and "
            "corrected, for each mode; 0 is right",
            draw_processes,
        ),
        Opening(
            "evidence/netrep.md",
            netrep,
            say_netrep,
            "Mean excess of netrep's distances over ours against alpha, from the same start and "
            "against our default",
            draw_netrep,
        ),
        Opening(
            "evidence/baselines.md",
            baselines,
            say_baselines,
            "Similarity of unrelated networks against the number of neurons, one curve for each "
            "measure; 0 would be right",
            draw_baselines,
        ),
        Opening(
            "evidence/inference.md",
            intervals,
            say_intervals,
            "Coverage of 90 % intervals in each simulated setting, in increasing order, with "
            "binomial intervals and a line at 0.9",
            draw_intervals,
        ),
        Opening(
            "evidence/models.md",
            models,
            say_models,
            "Coverage of 90 % intervals of models and ceilings in each simulated setting, in "
            "increasing order, with binomial intervals and a line at 0.9",
            draw_intervals,
        ),
        Opening(
            "evidence/scale.md",
            jobs,
            say_jobs,
            "Hours on two cores against alpha for the paper's two largest jobs, on a logarithmic "
            "axis",
            draw_jobs,
        ),
        Opening(
            "evidence/neighbors.md",
            neighbors,
            say_neighbors,
            "Share of pairs that the search solves against the number of neighbours for toy "
            "networks, VAEs and macaque V1",
            draw_neighbors,
        ),
        Opening(
            "evidence/repair.md",
            repaired,
            say_repaired,
            "Processor time of a repair against the number of networks for four kinds of "
            "distances, both axes logarithmic",
            draw_repaired,
        ),
        Opening(
            "evidence/macaque-models.md",
            macaque,
            say_macaque,
            "Distance of each layer and of the pixels from V1, with 90 % intervals over monkeys, "
            "for natural and synthetic images",
            draw_macaque,
        ),
    )
}
