# The image of kidp: the built package and its runtime dependencies on distroless Node, as a non-root user.
FROM node:24-bookworm-slim AS build
WORKDIR /kidp
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build
# The base image has its own Node; the npm package `node` is for machines without one.
RUN npm prune --omit=dev && rm -rf node_modules/node node_modules/.bin/node

FROM gcr.io/distroless/nodejs24-debian12:nonroot
WORKDIR /kidp
ENV NODE_ENV=production
COPY --from=build /kidp/node_modules node_modules
COPY --from=build /kidp/dist dist
COPY package.json LICENSE ./
COPY bin bin
COPY crds crds
COPY manifests manifests
COPY examples examples
COPY policies policies
COPY src/controlplane/recipes src/controlplane/recipes
USER nonroot:nonroot
ENTRYPOINT ["/nodejs/bin/node", "bin/kidp.js"]
