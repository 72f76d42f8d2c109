# Functions of scripts/test, scripts/verify and scripts/faults that install, build, start and stop the services that
# replace those of production. Source it in the root of the repository, and call stop_all in a trap on EXIT.

cache=$PWD/.cache/services
scratch=$(mktemp -d)
policy=
port=
# The running servers: name → process id.
declare -A started=()

say() { printf '== %s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

as_root() {
    if [[ $EUID -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

# stop_all stops all servers and removes their data.
stop_all() {
    local name
    for name in "${!started[@]}"; do kill "${started[$name]}" 2>/dev/null || true; done
    for name in "${!started[@]}"; do wait "${started[$name]}" 2>/dev/null || true; done
    started=()
    rm -rf "$scratch"
    allow_services
}

# Debian starts a service as soon as it is installed, unless this file forbids it.
forbid_services() {
    [[ -e /usr/sbin/policy-rc.d ]] && return
    policy=/usr/sbin/policy-rc.d
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod +x "$policy"
}

allow_services() {
    if [[ -n $policy ]]; then as_root rm -f "$policy"; fi
    policy=
}

# install COMMAND PACKAGE... installs the packages unless the command is there.
install() {
    local command=$1
    shift
    if command -v "$command" >/dev/null; then return; fi
    say "installing $*"
    forbid_services
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    allow_services
}

# build NAME PACKAGE... builds a server from the module NAME in scripts/services, or several into a folder, unless the
# cache has it from the same sources. $link has flags of the linker, $of the name of the module if it is not NAME.
build() {
    local name=$1 module=scripts/services/${of:-$1} sum
    shift
    sum=$({ cat "$module"/* && printf '%s' "${link:-}" "$@"; } | sha256sum)
    if [[ -x $cache/$name && $(cat "$cache/$name.sum" 2>/dev/null) == "$sum" ]]; then return; fi
    say "building $name"
    mkdir -p "$cache"
    rm -rf "$cache/$name.sum" "${cache:?}/$name"
    if (($# > 1)); then mkdir -p "$cache/$name"; fi
    # The compiler is faster with more memory, up to 2 GiB, and without inlining. The standard library is compiled as
    # for the tests.
    GOGC=off GOMEMLIMIT=2GiB go -C "$module" build -p 2 -gcflags 'all=-l -dwarf=false' -gcflags std=-dwarf=false -ldflags "-s -w ${link:-}" -o "$cache/$name" "$@"
    printf '%s\n' "$sum" >"$cache/$name.sum"
}

# prepare_services installs Redis and builds MinIO and the MongoDB-compatible server, unless they are there.
prepare_services() {
    install redis-server redis-server
    build_services
}

# build_minio_client builds mc, which scripts/verify alone uses.
build_minio_client() { of=minio build mc github.com/minio/mc; }

build_services() {
    build_minio
    build_mongodb
}

# build_changed NAME MODULE PACKAGE builds a server from a copy of the module's source with the changes of the patch
# beside its go.mod.
build_changed() {
    local own=scripts/services/$1 module=$2 copy=$cache/$1-source
    install patch patch
    go -C "$own" mod download "$module"
    mkdir -p "$cache"
    rm -rf "$copy"
    cp -r "$(go -C "$own" list -m -f '{{.Dir}}' "$module")" "$copy"
    chmod -R u+w "$copy"
    cat "$own"/*.patch | patch -s -p1 -d "$copy"
    cp "$own/go.mod" "$copy.mod"
    cp "$own/go.sum" "$copy.sum"
    go mod edit -replace "$module=$copy" "$copy.mod"
    GOFLAGS="${GOFLAGS:-} -modfile=$copy.mod" build "$1" "$3"
}

# build_minio builds MinIO without parts that take more than a third of the compilation and answer no request of S3: the
# console, the tiers on Azure and Google Cloud, and the notification of Elasticsearch.
build_minio() { build_changed minio github.com/minio/minio github.com/minio/minio; }

# build_mongodb builds the MongoDB-compatible server from FerretDB with two changes. First, queries use indexes:
# FerretDB reads the whole collection, except for a query by id alone, whose index is on another expression than the
# query. Second, each update closes its cursor: FerretDB keeps a connection to SQLite for each update of a command until
# its end, and waits for ever after 100 of them.
build_mongodb() { build_changed mongodbtest github.com/FerretDB/FerretDB .; }

# build_log_tools builds the verifiers of transparency logs: a witness, and tessera's check of whole logs.
build_log_tools() {
    build omniwitness github.com/transparency-dev/witness/cmd/omniwitness
    build fsck github.com/transparency-dev/tessera/cmd/fsck
}

# build_cluster_tools builds the clients of admission, which are the API server of Kubernetes with kubectl, about ten
# minutes of processor time and five of system time, and Gatekeeper's engine. It also builds Helm, which asks that API
# server for its version.
build_cluster_tools() {
    local version
    version=$(go -C scripts/services/kubernetes list -m -f '{{.Version}}' k8s.io/kubernetes)
    link="-X k8s.io/component-base/version.gitVersion=$version" build kubernetes k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kubectl
    build gatekeepertest .
    build helm helm.sh/helm/v3/cmd/helm
}

# build_cosign builds the command-line client of sigstore, which verifies signed verdicts too.
build_cosign() { build cosign github.com/sigstore/cosign/v2/cmd/cosign; }

# prepare_npm NAME installs the npm packages of the folder NAME in scripts/services, unless the cache has them from the
# same files.
prepare_npm() {
    local folder=scripts/services/$1 sum
    sum=$(cat "$folder"/* | sha256sum)
    if [[ $(cat "$cache/$1.sum" 2>/dev/null) == "$sum" ]]; then return; fi
    rm -rf "${cache:?}/$1"
    mkdir -p "$cache/$1"
    cp "$folder"/* "$cache/$1/"
    npm --prefix "$cache/$1" ci --loglevel error --no-audit --no-fund >/dev/null
    printf '%s\n' "$sum" >"$cache/$1.sum"
}

# prepare_browser installs the browser for the tests of pages, and axe, which tests their accessibility.
prepare_browser() {
    install npm npm
    prepare_npm axe
    install chromium chromium fonts-dejavu-core
}

# prepare_verifier installs sigstore's verifier of bundles.
prepare_verifier() {
    install npm npm
    prepare_npm sigstore
}

# pick_port sets port to a free port, below the range of those for outgoing connections.
pick_port() {
    port=$((20000 + RANDOM % 12000))
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((20000 + RANDOM % 12000)); done
}

# ask REQUEST sends it to the port and prints the first line of the answer.
ask() {
    local line
    exec 3<>"/dev/tcp/127.0.0.1/$port" || return
    printf '%b' "$1" >&3
    read -r -t 5 line <&3 || true
    printf '%s' "$line"
}

# A Redis that requires a password answers NOAUTH, one that still loads its data LOADING.
redis_answers() { [[ $(ask 'PING\r\n' 2>/dev/null) == @(+PONG|-NOAUTH)* ]]; }
minio_answers() { [[ $(ask 'GET /minio/health/ready HTTP/1.0\r\nHost: localhost\r\n\r\n' 2>/dev/null) == *' 200 '* ]]; }
ferretdb_answers() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }

# start NAME COMMAND... starts a server and returns when it answers on the port.
start() {
    local name=$1 deadline=$((SECONDS + 60))
    shift
    mkdir -p "$scratch/$name"
    "$@" >>"$scratch/$name.log" 2>&1 &
    started[$name]=$!
    until "${name}_answers"; do
        if ! kill -0 "${started[$name]}" 2>/dev/null || ((SECONDS > deadline)); then
            tail -n 20 "$scratch/$name.log" >&2
            fail "$name does not answer on port $port"
        fi
        sleep 0.1
    done
    say "$name answers on port $port"
}

# stop NAME ends a server.
stop() {
    kill "${started[$1]}"
    wait "${started[$1]}" || true
    unset "started[$1]"
}

# start_redis OPTION... starts a Redis on the port.
start_redis() {
    start redis redis-server --bind 127.0.0.1 --port "$port" --dir "$scratch/redis" \
        --save '' --maxmemory-policy noeviction "$@"
}

# start_minio USER PASSWORD starts a MinIO with that root user on the port.
start_minio() {
    start minio env MINIO_ROOT_USER="$1" MINIO_ROOT_PASSWORD="$2" MINIO_BROWSER=off MINIO_UPDATE=off \
        "$cache/minio" server --address "127.0.0.1:$port" --certs-dir "$scratch/certs" "$scratch/minio"
}

# start_ferretdb [ferretdb_apart] starts a server, or a second one, that speaks MongoDB's protocol on the port.
start_ferretdb() {
    start "${1:-ferretdb}" "$cache/mongodbtest" --listen "127.0.0.1:$port" --data "$scratch/${1:-ferretdb}"
}
ferretdb_apart_answers() { ferretdb_answers; }
