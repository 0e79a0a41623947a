"""Write the session of `nwb_support.py` as NWB in Zarr, zipped: nwb_session.zarr.zip.

hdmf-zarr needs Zarr below 3, so this runs in an environment of its own:

    python -m venv elsewhere
    elsewhere/bin/pip install pynwb hdmf-zarr 'zarr<3' h5py
    elsewhere/bin/python tests/write_nwb_zarr.py
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

TARGET = Path(__file__).parent / "nwb_session.zarr.zip"


def main() -> None:
    from hdmf_zarr import NWBZarrIO

    from nwb_support import make_session

    session = make_session(channel_number="probe_channel_number", empty="N/A")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.nwb.zarr"
        with NWBZarrIO(str(path), mode="w") as io:
            io.write(session.file, cache_spec=False)
        with zipfile.ZipFile(TARGET, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(one for one in path.rglob("*") if one.is_file()):
                archive.write(file, Path(path.name) / file.relative_to(path))


if __name__ == "__main__":
    main()
