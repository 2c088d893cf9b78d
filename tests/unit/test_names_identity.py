"""Which application a command is: launchers, wrappers, paths and numbers make no difference."""

import shlex
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iez_client.names import identify, rank_count

HACC = "hacc_like.py --particles 10000 --out lustre"


@pytest.mark.parametrize(
    "command",
    [
        "python examples/hacc_like.py --particles 10000 --out lustre",
        "python3 /abs/examples/hacc_like.py --particles 20000 --out /scratch/job.77/x",
        "mpirun -n 8 python3.11 -u hacc_like.py --particles 4e6 --out .",
        "mpirun -genv A B -ppn 4 -n 8 python hacc_like.py --particles 1 --out ../x",
        "mpirun --mca btl self -x A=B --bind-to core -np 8 hacc_like.py --particles 9 --out o",
        "srun -n 16 --mpi=pmix --cpu-bind cores ./hacc_like.py --particles 4M --out ~/x",
        "srun -n16 -l hacc_like.py --particles 0.5 --out /l",
        "aprun -n 64 -N 32 hacc_like.py --particles 1 --out x",
        "jsrun -n 4 -a 2 -c 7 -b packed:7 hacc_like.py --particles 1 --out x",
        "flux run -n 8 -o cpu-affinity=per-task hacc_like.py --particles 1 --out x",
        "iez-run --keep --app x --plan p -- mpirun -n 8 hacc_like.py --particles 1 --out x",
        "mpirun -n 8 iez-run -q hacc_like.py --particles 1 --out x",
        "env -u A -i B=c D=e python -X dev -W error hacc_like.py --particles 1 --out x",
        "time -p nice -n 5 ionice -c 2 -n 3 nohup hacc_like.py --particles 1 --out x",
        "timeout -k 5 10m stdbuf -oL setsid -w hacc_like.py --particles 1 --out x",
        "numactl --membind=0 -N 1 taskset -c 0-3 chrt -f 5 hacc_like.py --particles 1 --out x",
        "gdb -ex run --args python hacc_like.py --particles 1 --out x",
        "valgrind --tool=memcheck strace -f -o log hacc_like.py --particles 1 --out x",
        "apptainer exec -B /a:/b image.sif python hacc_like.py --particles 1 --out x",
        "singularity run image.sif hacc_like.py --particles 1 --out x",
        "shifter --image=a/b:c hacc_like.py --particles 1 --out x",
        "python -m mpi4py hacc_like.py --particles 1 --out x",
        "python -um cProfile -o prof hacc_like.py --particles 1 --out x",
        "sh -c 'exec ./hacc_like.py --particles 1 --out x'",
        "bash -lc 'A=b python hacc_like.py --particles 1 --out x'",
        "bash -x hacc_like.py --particles 1 --out x",
        "nohup time mpirun -n 8 hacc_like.py --particles 1 --out x",
        "bash -c 'mpirun -n 8 hacc_like.py --particles 1 --out x'",
        "mpirun -n 8 env A=b srun -n 1 hacc_like.py --particles 1 --out x",
        "bash -lc './hacc_like.py --particles 1 --out x > log 2>&1'",
        "bash -c './hacc_like.py --particles 1 >>log 2> err </dev/null --out x'",
        "bash -c './hacc_like.py --particles 1 --out $SCRATCH/x &> \"$LOG\"'",
        "bash -c 'module load x && ./hacc_like.py --particles 1 --out x'",
        "bash -c 'cd d && ./hacc_like.py --particles 1 --out x;'",
        "sh -c 'set -e; ulimit -s unlimited; umask 022\n. ./env; export A=$B; ./hacc_like.py "
        "--particles 1 --out x'",
        "bash -c 'source env.sh && mpirun -n 8 ./hacc_like.py --particles 1 --out x > log'",
        "perf stat -e cycles -o log python hacc_like.py --particles 1 --out x",
        "perf record -g -F 99 -- hacc_like.py --particles 1 --out x",
        "docker run --rm -it -v /a:/b -e A=b image:tag python hacc_like.py --particles 1 --out x",
        "podman run --volume=/a:/b --gpus all image hacc_like.py --particles 1 --out x",
        "conda run -n sim --no-capture-output python hacc_like.py --particles 1 --out x",
        "torchrun --standalone --nproc-per-node 4 hacc_like.py --particles 1 --out x",
        "torchrun --nnodes=2 --nproc_per_node 4 -r 3 hacc_like.py --particles 1 --out x",
        "prlimit --nofile=1024 -n=5 unbuffer hacc_like.py --particles 1 --out x",
        "xvfb-run -a -s '-screen 0 1x1x8' hacc_like.py --particles 1 --out x",
        "sudo -E -u user A=b hacc_like.py --particles 1 --out x",
        "hacc_like.py --out x --particles 1",
        "hacc_like.py --particles=1 --out x",
        "hacc_like.py --out=x --particles 1",
    ],
)
def test_whatever_starts_it_a_program_is_the_same_application(command: str) -> None:
    found = identify(shlex.split(command))
    assert (found.program, found.shape) == ("hacc_like.py", "--out @ --particles #")
    assert found == identify(HACC.split())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a --ssf", "a --fpp"),
        ("a --api mpiio", "a --api posix"),
        ("a --api hdf5", "a --api hdf4"),
        ("a x", "b x"),
        ("a", "a --verbose"),
        ("a in.lj", "a in.eam"),
        ("a x y", "a y x"),
        ("a -x posix -x mpiio", "a -x mpiio -x posix"),
        ("a -- -x -y", "a -- -y -x"),
        ("a --v1", "a --v2"),
        ("bash -c './a | ./b'", "bash -c './a'"),
        ("bash -c './a && ./b'", "bash -c './a'"),
        ("bash -c './a `./b`'", "bash -c './a'"),
        ("bash -c '$RUN ./a'", "bash -c './a'"),
        ("bash -c './a <<E'", "bash -c './a'"),
        ("a --out-format hdf5", "a --out-format posix"),
        ("mpirun -n 2 a : -n 2 b", "mpirun -n 2 a : -n 2 c"),
        ("mpirun -n 2 a : -n 2 b", "mpirun -n 2 a"),
        ("sh -c 'cd /x && ./a'", "sh -c 'cd /x && ./b -v'"),
    ],
)
def test_what_the_program_does_tells_applications_apart(one: str, other: str) -> None:
    assert identify(shlex.split(one)).key != identify(shlex.split(other)).key


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ("-n8 -b 4m -t 1MiB --x=1e-6 -5", "--x # -b # -n # -t # #"),
        ("--grid 64x64x64 --levels 1,2,3 --time 00:30:00", "--grid #x#x# --levels # --time #:#:#"),
        ("run_001.nml /a/b/run_17.nml", "run_#.nml run_#.nml"),
        ("/a/b/run_17 . .. ~/x", "@ @ @ @"),
        ("-o out -i in -d dir -f file", "-d @ -f @ -i @ -o @"),
        (
            "--outdir x --log-file y --restart z --log-level debug",
            "--log-file @ --log-level debug --outdir @ --restart @",
        ),
        ("-o/scratch/x of=/dev/y if=z", "-o @ if=z of=@"),
        ("job_12345 3f9a2b1c0d aB3xY9 run.77", "job_# * * run.#"),
        ("--input=/data/mesh.h5", "--input mesh.h#"),
        ("--name restart", "--name restart"),
        ("run1 case7 x2_y3 h2o", "run# case# x#_y# h2o"),
        ("--name run1 --level2 a", "--level2 a --name run#"),
        ("--api hdf5 --format=nc4", "--api hdf5 --format nc4"),
        ("b --n 3 a --m", "--m --n # b a"),
        ("-- -x", "-- -x"),
        ("", ""),
    ],
)
def test_shape_keeps_options_and_words(arguments: str, shape: str) -> None:
    assert identify(["a", *arguments.split()]).shape == shape


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("python -c 'print(1)'", "python"),
        ("python -m http.server 80", "http.server"),
        ("python", "python"),
        ("perl -w -I lib /x/sim.pl a", "sim.pl"),
        ("ruby sim.rb", "sim.rb"),
        ("Rscript --vanilla sim.R", "sim.R"),
        ("julia --project=. -p 4 sim.jl", "sim.jl"),
        ("node --max-old-space-size=4096 sim.js", "sim.js"),
        ("java -Xmx4g -cp a.jar:b org.sim.Main x", "org.sim.Main"),
        ("java -jar /opt/sim.jar x", "sim.jar"),
        ("sh -c 'a; b'", "sh"),
        ("apptainer run image.sif", "apptainer"),
        ("mpirun -n 4", ""),
        ("env", "env"),
    ],
)
def test_script_is_the_program_of_an_interpreter(command: str, program: str) -> None:
    assert identify(shlex.split(command)).program == program


def test_numbered_runs_are_one_application() -> None:
    names = ("run1", "run2", "run10", "run01")
    assert len({identify(["app.sh", name]).key for name in names}) == 1


def test_given_name_is_the_key() -> None:
    named = identify(["a", "--x"], "my app")
    assert named == identify(["a", "--x"], "my app")
    assert (named.key, named.name) == (sha256(b"my app").hexdigest(), "my app")
    assert identify(["b"], "my app").key == named.key
    assert identify(["a"]).name == "a"


@pytest.mark.parametrize(
    ("command", "environ", "count"),
    [
        ("mpirun -n 8 a", {}, 8),
        ("mpiexec -np 8 a", {}, 8),
        ("mpirun -c 4 a", {}, 4),
        ("mpirun --np=4 a", {}, 4),
        ("srun --ntasks=8 a", {}, 8),
        ("srun --ntasks 8 -c 4 a", {}, 8),
        ("srun -n8 a -n 3", {}, 8),
        ("jsrun -n 4 -a 2 a", {}, 8),
        ("jsrun -p 6 a", {}, 6),
        ("flux run -n4 a", {}, 4),
        ("iez-run mpirun -n 2 a : -n 3 b", {}, 5),
        ("time env A=b mpirun -n 7 a", {}, 7),
        ("mpirun a", {}, 0),
        ("mpirun -n x a", {}, 0),
        ("srun a", {"SLURM_NTASKS": "12"}, 12),
        ("srun -n 2 a", {"SLURM_NTASKS": "12"}, 2),
        ("a", {"PMI_SIZE": "4"}, 4),
        ("a", {"OMPI_COMM_WORLD_SIZE": "3", "SLURM_NTASKS": "12"}, 3),
        ("a", {"SLURM_STEP_NUM_TASKS": "5", "SLURM_NTASKS": "12"}, 5),
        ("a -n 4", {}, 0),
        ("", {}, 0),
    ],
)
def test_ranks_come_from_the_launcher_or_the_environment(
    command: str, environ: dict[str, str], count: int
) -> None:
    assert rank_count(command.split(), environ) == count


@given(st.lists(st.text(max_size=8), max_size=8))
def test_any_command_is_some_application(words: list[str]) -> None:
    starters = ["mpirun", "env", "sh", "python", "flux", "apptainer", "java", "iez-run", "docker"]
    assert identify(["sh", "-c", " ".join(words)]) == identify(["sh", "-c", " ".join(words)])
    for starter in starters:
        assert identify([starter, *words]) == identify([starter, *words])
        assert rank_count([starter, *words], {}) >= 0
