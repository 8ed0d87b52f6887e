"""Tables on the web and in buckets: copied once, with a limit on every wait, and without secrets in what is said."""

import contextlib
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from ringfence.errors import DataError, SpecError

WAIT = 30
"""Seconds that a server may keep silent."""
HERE = ("localhost", "127.0.0.1", "::1")
"""Where data may go unencrypted: it does not leave the machine."""
PIECE = 1 << 20
SPARK = "spark"
"""How addresses begin of what lies in Spark."""


def is_remote(source: str) -> bool:
    """Whether a source is an address and not a path."""
    return "://" in source


def is_database(source: object) -> bool:
    """Whether a source is the address of a database.

    >>> is_database("postgresql://host/base"), is_database("people.csv")
    (True, False)
    """
    return isinstance(source, str) and source.partition("://")[0] in ("postgresql", "postgres")


def is_spark(source: object) -> bool:
    """Whether a source lies in Spark: one of its DataFrames, or an address that begins with spark://.

    >>> is_spark("spark:///data/people"), is_spark("people.parquet")
    (True, False)
    """
    if isinstance(source, str):
        return source.partition("://")[0] == SPARK
    return type(source).__module__.partition(".")[0] == "pyspark" and hasattr(source, "sparkSession")


def without_secrets(address: str) -> str:
    """Return an address without passwords and keys, for messages.

    >>> without_secrets("https://me:pass@host:8080/a/b.csv?key=1#x")
    'https://host:8080/a/b.csv'
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def download(address: str, copy: Path) -> str:
    """Copy what is at an address into a file; return what it is called there."""
    parts, shown = urlsplit(address), without_secrets(address)
    name = PurePosixPath(unquote(parts.path)).name
    if parts.scheme not in ("https", "http", "s3"):
        raise SpecError(
            f"data.source = {shown!r}: {parts.scheme}:// cannot be read;"
            " allowed: a path, a pattern, a folder, -, https://, s3://, postgresql:// and spark://"
        )
    if parts.scheme == "http" and parts.hostname not in HERE:
        raise SpecError(f"data.source = {shown!r}: http:// is not encrypted; allowed: https://, or a downloaded file")
    if "@" in parts.netloc:
        raise SpecError(
            f"data.source = {shown!r} came with a user name or a password, which do not belong into a specification:"
            " download the file, or use an address that needs none"
        )
    with _saying(shown):
        if parts.scheme == "s3":
            _from_a_bucket(parts.netloc + parts.path, copy)
        else:
            _from_the_web(address, copy, shown)
    with copy.open("rb") as file:
        if file.read(512).lstrip().lower().startswith((b"<!doctype html", b"<html")):
            raise DataError(f"{shown!r} is a web page and not a table: is it where the file itself lies?")
    return name


def _from_the_web(address: str, copy: Path, shown: str) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "ringfence"})
    with urllib.request.urlopen(request, timeout=WAIT) as answer, copy.open("wb") as file:
        shutil.copyfileobj(answer, file, PIECE)
        told = answer.headers.get("Content-Length")
        if told is not None and file.tell() != int(told):  # a broken line ends a copy without a word
            raise DataError(f"{shown!r} was cut off after {file.tell():,} of {int(told):,} bytes; try again")


def _from_a_bucket(place: str, copy: Path) -> None:
    from pyarrow import fs

    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")  # not Amazon's own
    bucket = fs.S3FileSystem(
        region=region or "us-east-1",
        endpoint_override=endpoint,
        connect_timeout=WAIT,
        request_timeout=WAIT,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=2),
    )
    with bucket.open_input_stream(place.strip("/")) as answer, copy.open("wb") as file:
        shutil.copyfileobj(answer, file, PIECE)


@contextlib.contextmanager
def _saying(shown: str) -> Iterator[None]:
    """Say what went wrong on the way, without the address: what it had after a question mark may be a key."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()  # it holds the answer, and with it the line
        raise DataError(f"cannot read {shown!r}: the server answers {error.code} ({error.reason})") from None
    except urllib.error.URLError as error:
        why = getattr(error.reason, "strerror", None) or str(error.reason)
        raise DataError(f"cannot read {shown!r}: {why}; is the address right, and can this machine reach it?") from None
    except TimeoutError:
        raise DataError(f"cannot read {shown!r}: the server kept silent for {WAIT} seconds") from None
    except (OSError, HTTPException, ValueError) as error:
        why = str(error).partition("AWS Error")[2].strip() or type(error).__name__
        raise DataError(f"cannot read {shown!r}: {why}; is the address right, and may this machine read it?") from None
