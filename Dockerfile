# One image for all functions; the function's name is the argument. `npm run image` makes one without a container engine and
# without a shell inside, which starts the same files. This one is built with the digest of the node image you trust:
#   docker build --build-arg NODE_DIGEST=sha256:… --build-arg VERSION=… --build-arg REVISION=… -t capi-caretaker .
ARG NODE_IMAGE=node:26-slim
ARG NODE_DIGEST

FROM ${NODE_IMAGE}@${NODE_DIGEST} AS bundle
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
# Not through npm, which would take the node of the packages: what V8 compiled is kept for the node that runs below.
RUN node cli/bundle.ts

FROM ${NODE_IMAGE}@${NODE_DIGEST}
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="capi-caretaker" \
      org.opencontainers.image.description="Knative functions that take care of Cluster API templates and machines" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production
COPY --from=bundle /src/dist /app
# A number, because the kubelet cannot tell of a name whether it is root.
USER 65532:65532
EXPOSE 8080
# The flags of cli/bundle/node-flags.ts, which says why.
ENTRYPOINT ["node", "--max-semi-space-size=2", "/app/caretaker.mjs"]
