usage() {
    cat <<USAGE
usrun.sh [OPTIONS] COMMAND [ARGUMENT ...]
Run a command on a compute node of $site.

  --gpus=N          how many GPUs, or TYPE:N; 0 for none     ($gpus)
  --image=IMAGE     the container to run it in, or none      (${image:-none})
  --time=MINUTES    when it ends at the latest               ($minutes)
  --mem=SIZE        memory, such as 32G                      (${memory:-as Slurm has it})
  --cpus=N          processors                               (${cpus:-as Slurm has it})
  --nodes=N         nodes                                    (1)
  --mounts=S:T,...  folders to be seen in the container      (${mounts:-as at the site})
  --partition=NAME                                           (${partition:-as Slurm has it})
  --account=NAME                                             (${account:-as Slurm has it})
  --qos=NAME                                                 (${qos:-as Slurm has it})
  --pty             on your terminal, for a shell
  --show            print the command and do not run it

Other options, such as --NAME=VALUE, go to srun as they are. Inside a job it is
a step of that job, and has its account, partition and time. What is usual, you
can change: USRUN_IMAGE, USRUN_MINUTES, USRUN_MOUNTS, USRUN_ACCOUNT.

  usrun.sh --pty bash
  usrun.sh --gpus=2 --time=120 python train.py --epochs=10
USAGE
}

fail() { # TEXT [CODE]
    echo "usrun.sh: $1" >&2
    exit "${2:-2}"
}

image=${USRUN_IMAGE:-$image}
minutes=${USRUN_MINUTES:-$minutes}
mounts=${USRUN_MOUNTS:-$mounts}
account=${USRUN_ACCOUNT:-$account}
gpus=1 nodes='' further=() said=' '
while [ "$#" -gt 0 ]; do
    option=$1
    case $option in
        --gpus | --image | --time | --mem | --cpus | --nodes | --mounts | --partition | --account | --qos)
            [ "$#" -gt 1 ] || fail "$option: a value is missing. Try: usrun.sh --help"
            shift
            option=$option=$1
            ;;
    esac
    value=${option#*=}
    case $option in
        --gpus=*) gpus=$value ;;
        --image=*) image=$value ;;
        --time=*) minutes=$value ;;
        --mem=*) memory=$value ;;
        --cpus=*) cpus=$value ;;
        --nodes=*) nodes=$value ;;
        --mounts=*) mounts=$value ;;
        --partition=*) partition=$value ;;
        --account=*) account=$value ;;
        --qos=*) qos=$value ;;
        --pty) further+=(--pty) ;;
        --show) ;;
        -h | --help)
            usage
            exit
            ;;
        --)
            shift
            break
            ;;
        -*) further+=("$option") ;;
        *) break ;;
    esac
    said+="${option%%=*} "
    shift
done
was_said() { [[ $said == *" $1 "* ]]; }

[ "$#" -gt 0 ] || fail "no command. Try: usrun.sh --pty bash"
if [[ $gpus =~ ^(([A-Za-z0-9_.-]+):)?([0-9]+)$ ]]; then
    gpu_type=${BASH_REMATCH[2]:-$gpu_type} number=${BASH_REMATCH[3]}
else
    fail "--gpus=$gpus: write a number, or TYPE:NUMBER"
fi
wanted=()
[ "$number" -eq 0 ] || [ -z "$gpu_option" ] || wanted=("$gpu_option${gpu_type:+$gpu_type:}$number")

step=(srun -K)
if [ -n "${SLURM_JOB_ID:-}" ]; then # what was not said is the job's
    was_said --gpus && step+=("${wanted[@]}")
    was_said --time && step+=("--time=$minutes")
    was_said --mem && step+=("--mem=$memory")
    was_said --cpus && step+=("--cpus-per-task=$cpus")
else
    # Both lists are words of options, with no blanks inside.
    # shellcheck disable=SC2206
    if [ "$number" -gt 0 ]; then step+=($gpu_jobs); else step+=($cpu_jobs); fi
    step+=("${wanted[@]}" "--time=$minutes")
    [ -n "$account" ] || [ -z "$account_required" ] ||
        fail "a job names its account here. Say --account=NAME${accounts_command:+; yours: $accounts_command}"
    [ -z "$partition" ] || step+=("--partition=$partition")
    [ -z "$account" ] || step+=("--account=$account")
    [ -z "$qos" ] || step+=("--qos=$qos")
    [ -z "$memory" ] || step+=("--mem=$memory")
    [ -z "$cpus" ] || step+=("--cpus-per-task=$cpus")
fi
[ -z "$nodes" ] || step+=("--nodes=$nodes")
step+=("${further[@]}")

here=$(pwd -P)
if [ -n "$home_in_jobs" ]; then
    case $here/ in
        "$(cd && pwd -P)"/*) fail "jobs cannot read the home here. Change to $home_in_jobs first." ;;
    esac
fi
mounts=${mounts//'$HOME'/$HOME}
[ "$image" != none ] || image=''
inside=()
case ${image:+$runtime} in
    pyxis)
        inside=(--container-image="$image" --container-workdir="$PWD")
        [ -z "$mounts" ] || inside+=("--container-mounts=$mounts")
        ;;
    environment) inside=(--environment="$image") ;;
    apptainer | singularity)
        inside=("$runtime" exec)
        [ "$number" -eq 0 ] || inside+=(--nv)
        [ -z "$home_in_jobs" ] || inside+=(--home="$home_in_jobs")
        [ -z "$mounts" ] || inside+=(--bind="$mounts")
        inside+=(--pwd="$PWD" "$image")
        ;;
    none) fail "no container tool is known here. Say --image=none" ;;
esac

if was_said --show; then
    printf '%q ' "${step[@]}" "${inside[@]}" "$@"
    echo
    exit
fi
command -v srun >/dev/null ||
    fail "srun is not here. Run this on the login node of the cluster; is Slurm's module loaded?" 127
case $image in
    /* | ./* | ../* | ~*) [ -e "$image" ] || [ ! -d "${image%/*}" ] || fail "$image is not there. See what is: ls ${image%/*}" ;;
esac
if [ "${inside[0]:-}" = "$runtime" ] && ! command -v "$runtime" >/dev/null; then
    # A site's "module" is a function, which a script does not always inherit.
    command -v module >/dev/null || . /etc/profile >/dev/null 2>&1
    [ -z "$module" ] || module load "$module" >/dev/null 2>&1
    command -v "$runtime" >/dev/null || fail "$runtime is not here${module:+. Load it first: module load $module}" 127
fi
exec "${step[@]}" "${inside[@]}" "$@"
