"""MPI's launchers and maps, UCX, libfabric and NCCL's libfabric plugin."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers import fi_info, libfabric_log, mpi_map, mpi_messages, ofi_plugin, ucx_log


def values(facts: Iterable[Fact], key: str) -> list[Value]:
    return [f.value for f in facts if f.key == key]


def of(facts: Iterable[Fact], key: str) -> dict[str, Value]:
    return {f.subject.name: f.value for f in facts if f.key == key}


OMPI4 = """\
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun noticed that process rank 3 with PID 40117 on node gpu07 exited on signal 9 (Killed).
--------------------------------------------------------------------------
"""

PRRTE = """\
--------------------------------------------------------------------------
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-gpu-head-2301@1,5]
   Exit code:    1
--------------------------------------------------------------------------
"""

ORTE = """\
--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[21391,1],2]
  Exit code:    134
--------------------------------------------------------------------------
--------------------------------------------------------------------------
ORTE has lost communication with a remote daemon.

  HNP daemon   : [[21391,0],0] on node head
  Remote daemon: [[21391,0],2] on node gpu12

This is usually due to either a failure of the TCP network
connection to the node, or possibly an internal failure of
the daemon itself. We cannot recover from this failure, and
therefore will terminate the job.
--------------------------------------------------------------------------
There are not enough slots available in the system to satisfy the 16
slots that were requested by the application:
"""

HYDRA = """\
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 1 PID 65033 RUNNING AT gn59
=   KILLED BY SIGNAL: 9 (Killed)
===================================================================================
Abort(1614735) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init: Unknown error class, error stack:
MPIR_Init_thread(192)........:
"""


def test_open_mpi_names_rank_and_host() -> None:
    facts = list(mpi_messages.parse(Document("out.log", OMPI4)))
    assert of(facts, "mpi.killed_by") == {"3": 9}
    assert values(facts, "mpi.failed_host") == ["gpu07"]


def test_process_names_of_orte_and_prrte() -> None:
    new, old = (list(mpi_messages.parse(Document("out.log", text))) for text in (PRRTE, ORTE))
    assert of(new, "mpi.exit_code") == {"5": 1}
    assert of(old, "mpi.exit_code") == {"2": 134}
    assert of(old, "mpi.lost_host") == {"gpu12": "gpu12"}
    assert values(old, "mpi.daemon_failed") == ["lost"]
    assert values(old, "mpi.slots_short") == [16]


def test_hydra_of_mpich_and_intel() -> None:
    facts = list(mpi_messages.parse(Document("out.log", HYDRA)))
    assert of(facts, "mpi.killed_by") == {"1": 9}
    assert of(facts, "mpi.failed_host") == {"gn59": "gn59"}
    assert of(facts, "mpi.fatal_in") == {"0": "PMPI_Init"}


def test_map_of_open_mpi() -> None:
    text = """\
 ========================   JOB MAP   ========================

 Data for node: node1   Num slots: 2    Max slots: 0    Num procs: 2
         Process OMPI jobid: [54391,1] App: 0 Process rank: 0 Bound: socket 0[core 0[hwt 0]]:[B/./.][./././]
         Process OMPI jobid: [54391,1] App: 0 Process rank: 1 Bound: socket 0[core 1[hwt 0]]:[./B/.][./././]

 Data for node: Name: node2\tNum procs: 1
         Process OMPI jobid: [54391,1] Process rank: 2

 =============================================================
"""
    facts = list(mpi_map.parse(Document("out.log", text)))
    assert of(facts, "mpi.procs") == {"node1": 2, "node2": 1}
    assert values(facts, "nodes") == [2]
    assert values(facts, "world_size") == [3]


def test_intel_mpi_debug() -> None:
    text = """\
[0] MPI startup(): Intel(R) MPI Library, Version 2021.12  Build 20240213 (id: 4f55822)
[0] MPI startup(): libfabric version: 1.18.1-impi
[0] MPI startup(): libfabric provider: tcp;ofi_rxm
[0] MPI startup(): Number of NICs:  1
[0] MPI startup(): ===== NIC pinning on sierra-benchmark =====
[0] MPI startup(): Rank    Pin nic
[0] MPI startup(): 0       eth0
[0] MPI startup(): 1       eth0
[0] MPI startup(): Rank    Pid      Node name       Pin cpu
[0] MPI startup(): 0       17077    gpu01  {0,1,15}
[0] MPI startup(): 1       3475     gpu02  4
[0] MPI startup(): 2       3476     gpu02  4
"""
    facts = list(mpi_map.parse(Document("out.log", text)))
    assert values(facts, "mpi.provider") == ["tcp;ofi_rxm"]
    assert values(facts, "mpi.version") == ["Intel MPI 2021.12"]
    assert of(facts, "mpi.rank_nic") == {"0": "eth0", "1": "eth0"}
    assert values(facts, "nodes") == [2]
    assert of(facts, "cpu.shared_core") == {"gpu02": 2}


UCX = """\
[1721772825.783135] [acn36:3811001:0]     ucp_context.c:2137 UCX  INFO  Version 1.16.0 (loaded from /apps/UCX/1.16.0/lib/libucp.so.0)
[1701292112.829711] [acn36:3811001:0]      ucp_worker.c:1855 UCX  INFO    0x100b240 self cfg#0 tag(self/memory cma/memory)
[1701292112.829711] [acn36:3811001:0]      ucp_worker.c:1855 UCX  INFO    0x100b240 inter-node cfg#3 tag(rc_mlx5/mlx5_0:1 rc_mlx5/mlx5_1:1)
[1701292112.836497] [acn36:3811001:0]          ucp_ep.c:1508 UCX  DIAG  ep 0x7f1eac0b5108: error 'Input/output error' on rc_mlx5/mlx5_0:1 will not be handled since no error callback is installed
"""


def test_ucx_info_lines() -> None:
    facts = list(ucx_log.parse(Document("out.log", UCX)))
    assert of(facts, "ucx.version") == {"acn36": "1.16.0"}
    assert of(facts, "ucx.internode") == {"acn36": "rc_mlx5"}
    assert values(facts, "ucx.device_used") == ["mlx5_0:1", "mlx5_1:1"]
    assert len(values(facts, "ucx.problem")) == 1


def test_ucx_older_lines_and_tcp() -> None:
    text = (
        "[1651135254.203459] [gpu07:4117:0]     ucp_worker.c:1720 UCX  INFO  ep_cfg[0]: tag(self/memory cma/memory)\n"
        "[1651135254.303459] [gpu07:4117:0]     ucp_worker.c:1720 UCX  INFO  ep_cfg[2]: tag(tcp/eth0)\n"
    )
    assert of(ucx_log.parse(Document("out.log", text)), "ucx.internode") == {"gpu07": "tcp"}


def test_ucx_table_of_protocols() -> None:
    text = """\
[1700000000.1] [gpu01:211:0]   +--------------------------------+---------------------------------------------------+
[1700000000.1] [gpu01:211:0]   | ucp_context_0 inter-node cfg#1 | tagged message by ucp_tag_send* from host memory  |
[1700000000.1] [gpu01:211:0]   +--------------------------------+------------------------------+--------------------+
[1700000000.1] [gpu01:211:0]   |                        0..2038 | short                        | tcp/ens1f0         |
[1700000000.1] [gpu01:211:0]   |                     2039..inf  | rendezvous zero-copy         | 50% on rc_mlx5/mlx5_0:1 and 50% on rc_mlx5/mlx5_1:1 |
"""
    facts = list(ucx_log.parse(Document("out.log", text)))
    assert set(values(facts, "ucx.device_used")) == {"ens1f0", "mlx5_0:1", "mlx5_1:1"}


def test_ucx_info_d() -> None:
    text = """\
#
# Memory domain: mlx5_0
#      Transport: rc_verbs
#         Device: mlx5_0:1
#           Type: network
#      Transport: tcp
#         Device: eth0
"""
    facts = list(ucx_log.parse(Document("ucx_info.txt", text)))
    assert values(facts, "ucx.transport_present") == ["rc_verbs", "tcp"]
    assert values(facts, "ucx.device_present") == ["mlx5_0:1"]


def test_libfabric_lines_with_and_without_time() -> None:
    text = """\
libfabric:12817:1712345678::core:core:fi_getinfo_():1161<info> Found provider with the highest priority efa, must_use_util_prov = 0
libfabric:12817:1712345678::efa:av:efa_av_insert_one():345<warn> Failed to create AH: Invalid argument
libfabric:211:core:core:ofi_register_provider():438<info> registering provider: tcp (110.0)
libfabric:211:verbs:fabric:vrb_get_devices():120<info> no verbs devices found
"""
    facts = list(libfabric_log.parse(Document("out.log", text)))
    assert values(facts, "ofi.provider_first") == ["efa"]
    assert values(facts, "ofi.warning") == ["efa: Failed to create AH: Invalid argument"]
    assert values(facts, "ofi.provider_absent") == ["verbs"]


def test_fi_info() -> None:
    text = """\
provider: efa
    fabric: efa
    domain: rdmap16s27-rdm
    version: 118.10
    type: FI_EP_RDM
    protocol: FI_PROTO_EFA
provider: efa
    fabric: efa
    domain: rdmap32s27-rdm
"""
    assert values(fi_info.parse(Document("fi_info.txt", text)), "net.efa_providers") == [2]
    version = "fi_info: 1.18.1amzn1.0\nlibfabric: 1.18.1amzn1.0\nlibfabric api: 1.18\n"
    assert values(libfabric_log.parse(Document("v.txt", version)), "ofi.libfabric_version") == ["1.18.1amzn1.0"]


OFI = """\
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.13.2-aws
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Using Libfabric version 1.22
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Running on p5.48xlarge platform, Setting NCCL_TOPO_FILE environment variable to /opt/amazon/ofi-nccl/share/aws-ofi-nccl/xml/p5.48xl-topo.xml
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Using transport protocol RDMA (platform set)
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Created device with 4 rails (originally found 4 rails)
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Support for DMA-BUF registrations: true
[1,0]<stdout>:worker-0:21:21 [0] NCCL INFO NET/OFI Selected Provider is efa (found 1 nics)
"""


def test_ofi_plugin_by_host() -> None:
    facts = list(ofi_plugin.parse(Document("out.log", OFI)))
    assert of(facts, "ofi.nics") == {"gpu-01": 32, "worker-0": 1}
    assert of(facts, "ofi.protocol") == {"gpu-01": "RDMA"}
    assert of(facts, "ofi.rails") == {"gpu-01": 4}
    assert of(facts, "ofi.platform") == {"gpu-01": "p5.48xlarge"}
    assert of(facts, "ofi.dmabuf") == {"gpu-01": True}
    assert of(facts, "ofi.fabric") == {"gpu-01": "efa-direct"}
