# Built by scripts/image, or: docker build -t waymark .

FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libexpat1-dev libpq-dev libsqlite3-dev pkg-config zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# The manifests first, so that dependencies are resolved again only when a manifest changes.
COPY Package.swift ./
COPY Clients Clients
RUN swift package resolve
COPY Sources Sources
COPY Migrations Migrations
COPY Tests Tests
COPY Benchmarks Benchmarks
# The options of build_release in scripts/lib.sh.
RUN swift build -c release --product waymark --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked \
    && install -D -s "$(swift build -c release --static-swift-stdlib --show-bin-path)/waymark" /out/waymark

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libexpat1 libpq5 libsqlite3-0 tzdata zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 waymark \
    && useradd --system --uid 10001 --gid waymark --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin waymark \
    && install -d -o waymark -g waymark -m 0750 /var/lib/waymark
COPY --from=build /out/waymark /usr/bin/waymark
COPY LICENSE /usr/share/doc/waymark/
COPY Sources/Features/Pages/CBaseMap/NOTICE /usr/share/doc/waymark/NOTICE.base-map
COPY Sources/Libraries/CHolidays/NOTICE /usr/share/doc/waymark/NOTICE.public-holidays
COPY Sources/Libraries/CTimeZones/NOTICE /usr/share/doc/waymark/NOTICE.time-zones
USER 10001:10001
ENV HTTP_HOST=0.0.0.0 \
    HTTP_PORT=8080 \
    LOG_FORMAT=json
# The volume for MEMORY_STORE_PATH.
VOLUME /var/lib/waymark
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["/usr/bin/waymark", "health"]
ENTRYPOINT ["/usr/bin/waymark"]
CMD ["serve"]
