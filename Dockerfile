# One image for every part of Tongyao: workers, gateway, and the job that prepares the databases.
FROM python:3.12.12-slim-bookworm AS build
WORKDIR /src
RUN python -m venv /opt/tongyao
ENV PATH=/opt/tongyao/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# Dependencies in a layer of their own: a change of the code alone does not install them again.
# `highway` in place of `runtime` adds what TONGYAO_RETRIEVER=highway needs (docs/highway.md).
ARG REQUIREMENTS=runtime
COPY requirements/bootstrap.txt requirements/${REQUIREMENTS}.txt requirements/
RUN pip install --require-hashes -r requirements/bootstrap.txt -r requirements/${REQUIREMENTS}.txt
COPY pyproject.toml README.md LICENSE worker.py ./
COPY tongyao tongyao
COPY crystalline_highway crystalline_highway
COPY workflows workflows
COPY activities activities
COPY prompts prompts
RUN pip install --no-deps --no-build-isolation .
# Workers are started by the path of their file: `python -m worker` takes a worker.py of the current directory first.
RUN ln -s lib/python3.12/site-packages/worker.py /opt/tongyao/worker.py

FROM python:3.12.12-slim-bookworm
RUN useradd --system --uid 10001 --create-home --home-dir /home/tongyao tongyao
COPY --from=build /opt/tongyao /opt/tongyao
ENV PATH=/opt/tongyao/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 TONGYAO_HOME=/home/tongyao/.tongyao
USER 10001:10001
WORKDIR /home/tongyao
ENTRYPOINT []
CMD ["tongyao", "--help"]
