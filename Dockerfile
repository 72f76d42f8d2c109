# Attestry's two processes, and the standalone with both, in one image without a shell. Every
# setting comes from the environment; the api is what runs unless another is asked for.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# What --version names, as the history is not copied.
ARG COMMIT=
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X attestry/process/buildinfo.commit=$COMMIT" -o /out/attestry-api ./api && \
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X attestry/process/buildinfo.commit=$COMMIT" -o /out/attestry-worker ./worker && \
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X attestry/process/buildinfo.commit=$COMMIT" -o /out/attestry-standalone ./scripts/standalone

# It brings the certificates, the time zones, and the user nonroot (65532).
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/attestry-api /out/attestry-worker /out/attestry-standalone /
EXPOSE 8001
CMD ["/attestry-api"]
