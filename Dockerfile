# One image for every process; docker-compose.yml says which command each runs. It has mysqlclient, which is under the GPL.

FROM python:3.11-slim AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev libmariadb-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/build && python -m venv /opt/wangtimer
WORKDIR /source
# Every file that is fetched is the one whose hash `make lock` has written down, the tools that build wheels included.
COPY requirements.lock ./
COPY deploy/build-requirements.lock deploy/
RUN /opt/build/bin/pip install --no-cache-dir --require-hashes -r deploy/build-requirements.lock \
    && /opt/build/bin/pip wheel --no-cache-dir --no-build-isolation --require-hashes -r requirements.lock -w /wheels
COPY pyproject.toml README.md LICENSE Procfile schema.sql celeryconfig.py ./
COPY wangtimer wangtimer
RUN /opt/build/bin/pip wheel --no-cache-dir --no-build-isolation --no-deps -w /wheels . \
    && /opt/wangtimer/bin/pip install --no-cache-dir --no-index --no-deps /wheels/*.whl \
    && /opt/wangtimer/bin/pip check \
    && /opt/wangtimer/bin/python -m compileall -q /opt/wangtimer/lib

FROM python:3.11-slim
# mysqlclient's library, and what `wangtimer backup` runs; the compiler stays behind.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libmariadb3 mariadb-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/wangtimer wangtimer
COPY --from=build /opt/wangtimer /opt/wangtimer
ENV PATH=/opt/wangtimer/bin:$PATH PYTHONUNBUFFERED=1
USER wangtimer
WORKDIR /var/lib/wangtimer
EXPOSE 5000
CMD ["gunicorn", "--config", "python:wangtimer.api.gunicorn", "--no-control-socket", "wangtimer.api:create_app()"]
