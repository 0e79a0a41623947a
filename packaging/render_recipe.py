"""Render the conda recipe for every declared Python, as rattler-build does before it builds.

    python -m pip install py-rattler-build
    python packaging/render_recipe.py

Fails if the recipe does not follow its schema, or names a source that is not there. Packages of
conda are not needed.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "packaging/conda/recipe.yaml"
# What conda-forge fixes for all of its recipes.
PINNED = {"cxx_compiler": ["gxx"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.17"]}


def declared_pythons() -> list[str]:
    """Return the versions of Python in the classifiers."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return re.findall(r"Python :: (3\.\d+)", "\n".join(settings["project"]["classifiers"]))


def main() -> None:
    """Render all variants, and print what each needs to run."""
    pythons = declared_pythons()
    variants = VariantConfig.from_yaml(json.dumps(PINNED | {"python": pythons}))
    rendered = [one.recipe.to_dict() for one in Stage0Recipe.from_file(RECIPE).render(variants)]
    if len(rendered) != len(pythons):
        sys.exit(f"{len(rendered)} packages for {len(pythons)} versions of Python")
    for recipe in rendered:
        source = RECIPE.parent / recipe["source"][0]["path"]
        if not source.exists():
            sys.exit(f"{source.name} is not in dist: run `make dist`")
        name = "-".join([*recipe["package"].values(), recipe["build"]["string"]])
        print(f"{name}: {len(recipe['requirements']['run'])} requirements")


if __name__ == "__main__":
    main()
