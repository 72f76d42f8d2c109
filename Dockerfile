# Attestry's processes, the standalone with all of them, and what operators and auditors run, in one image without a shell.
# Every setting comes from the environment; the api is what runs unless something else is asked for. With the tag otel the
# processes export spans by OpenTelemetry where OTEL_EXPORTER_OTLP_ENDPOINT is set.
# It is compiled on the machine's own platform for that of the image.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
ARG TARGETARCH
ENV GOARCH=$TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# What --version names, as the history is not copied.
ARG VERSION= COMMIT=
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -tags otel -trimpath -ldflags "-s -w -X attestry/process/buildinfo.version=$VERSION -X attestry/process/buildinfo.commit=$COMMIT" -o /out/attestry-api ./api && \
    CGO_ENABLED=0 go build -tags otel -trimpath -ldflags "-s -w -X attestry/process/buildinfo.version=$VERSION -X attestry/process/buildinfo.commit=$COMMIT" -o /out/attestry-worker ./worker && \
    CGO_ENABLED=0 go build -tags otel -trimpath -ldflags "-s -w -X attestry/process/buildinfo.version=$VERSION -X attestry/process/buildinfo.commit=$COMMIT" -o /out/attestry-standalone ./scripts/standalone && \
    CGO_ENABLED=0 go build -tags otel -trimpath -ldflags "-s -w -X attestry/process/buildinfo.version=$VERSION -X attestry/process/buildinfo.commit=$COMMIT" -o /out/attestry-admin ./scripts/admin && \
    CGO_ENABLED=0 go build -tags otel -trimpath -ldflags "-s -w -X attestry/process/buildinfo.version=$VERSION -X attestry/process/buildinfo.commit=$COMMIT" -o /out/attestry-verify-package ./scripts/verify-package
# All else that the image has: a folder for temporary files, a name for its user, and the authorities that receivers,
# issuers and stores are verified by.
RUN install -d -m 1777 /out/tmp && install -d /out/etc/ssl/certs && \
    cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ && \
    echo 'attestry:x:65532:65532::/tmp:/sbin/nologin' >/out/etc/passwd && \
    echo 'attestry:x:65532:' >/out/etc/group

FROM scratch
ARG VERSION= COMMIT=
LABEL org.opencontainers.image.title=Attestry \
    org.opencontainers.image.description="Keeps the evidence of software delivery, and says what may run where" \
    org.opencontainers.image.licenses=Apache-2.0 \
    org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$COMMIT
COPY --from=build /out/ /
USER 65532:65532
EXPOSE 8001
CMD ["/attestry-api"]
