"""The process of the stream: `python -m wangtimer.stream`."""

from wangtimer.stream.stream_server import run

if __name__ == "__main__":
    run()
