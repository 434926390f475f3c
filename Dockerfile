# tongues in a container, for the processor or for CUDA:
#   docker build -t tongues .
#   docker build -t tongues:cuda --build-arg TORCH=https://pypi.org/simple .
#   docker run --rm -it -v "$PWD:/work" tongues demo
#   docker run --rm -it -v "$PWD:/work" --gpus all --shm-size 8g tongues:cuda doctor
# The wheels of torch carry CUDA's libraries; the host needs its driver alone. With the compiler torch
# compiles layers: C++ on the processor, and on a GPU the C of Triton's launchers.
FROM python:3.12-slim AS build
COPY pyproject.toml README.md LICENSE /source/
COPY tongues /source/tongues
RUN pip wheel --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
ARG TORCH=https://download.pytorch.org/whl/cpu
ARG EXTRAS=standard,hub,lora,gguf
COPY --from=build /wheels /wheels
COPY constraints.txt /
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gcc g++ libc6-dev \
 && rm -r /var/lib/apt/lists/*
RUN pip install --no-cache-dir torch --constraint /constraints.txt --index-url "$TORCH" \
 && pip install --no-cache-dir --constraint /constraints.txt "$(echo /wheels/tongues-*.whl)[$EXTRAS]" \
 && rm -r /wheels
WORKDIR /work
ENTRYPOINT ["tongues"]
CMD ["--help"]
