# The image of kidp with a container engine. `npm run image` builds the same content without one: docs/image.md.
# The base needs the C library of Debian 12 or newer, Node 24 as /nodejs/bin/node, and CA certificates.
ARG NODE_IMAGE=node:24-bookworm
ARG GO_IMAGE=golang:1.26-bookworm
ARG BASE_IMAGE=gcr.io/distroless/nodejs24-debian12:nonroot

FROM ${GO_IMAGE} AS helm
WORKDIR /helm
COPY src/controlplane/recipes/helm ./
ENV CGO_ENABLED=0 GOFLAGS=-buildvcs=false GOTOOLCHAIN=local
RUN go build -mod=readonly -trimpath -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=v4.3.1" -o /helm/helm helm.sh/helm/v4/cmd/helm

FROM ${NODE_IMAGE} AS build
WORKDIR /source
COPY . .
RUN npm ci && npm run image -- --files /kidp.tar && mkdir /image && tar -xf /kidp.tar -C /image

FROM ${BASE_IMAGE}
COPY --from=helm /helm/helm /usr/local/bin/helm
COPY --from=build /image/kidp /kidp
WORKDIR /kidp
ENV NODE_ENV=production PATH=/usr/local/bin:/nodejs/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
EXPOSE 8443 8444
VOLUME /tmp
USER 65532:65532
ENTRYPOINT ["/nodejs/bin/node", "/kidp/bin/kidp.js"]
