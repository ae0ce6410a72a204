"""Uploads a file with tuspy as people install it, and says when a piece is there.

python -m tests.acceptance.tus_upload ADDRESS AUTHORIZATION FILE PIECE_BYTES
"""

import sys
import time

from requests import RequestException
from tusclient.client import TusClient
from tusclient.exceptions import TusCommunicationError

TRIES, PAUSE_SECONDS = 400, 0.25


def main() -> None:
    endpoint, authorization, path, piece = sys.argv[1:]
    client = TusClient(endpoint, headers={"Authorization": authorization})
    uploader = client.uploader(path, chunk_size=int(piece), metadata={"filename": "film.mp4"})
    for _ in range(TRIES):
        try:
            while uploader.offset < uploader.get_file_size():
                uploader.upload_chunk()
                print(f"there {uploader.offset}", flush=True)
            break
        except (TusCommunicationError, RequestException):
            time.sleep(PAUSE_SECONDS)
        # A resumed upload first asks for its offset.
        try:
            uploader = client.uploader(path, url=uploader.url, chunk_size=int(piece))
        except (TusCommunicationError, RequestException):
            time.sleep(PAUSE_SECONDS)
    print("done", flush=True)


if __name__ == "__main__":
    main()
