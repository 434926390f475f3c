#!/bin/bash
# A real Slurm of one node on this machine (Debian or Ubuntu, as root), for `slurm.py`.
# usage: one_node_slurm.sh FOLDER (for its state)
set -e
state=${1:?name a folder for its state}
if ! command -v slurmctld slurmd munged > /dev/null; then
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q slurm-wlm munge
fi
mkdir -p "$state"/{control,spool} /etc/slurm /run/munge
cat > /etc/slurm/slurm.conf <<END
ClusterName=one
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/slurmd.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdLogFile=$state/slurmd.log
SlurmdSpoolDir=$state/spool
StateSaveLocation=$state/control
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,sched_min_interval=0,batch_sched_delay=0
ReturnToService=2
KillWait=20
MailProg=/bin/true
NodeName=$(hostname) NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(($(free -m | awk '/Mem:/ {print $2}') - 1000))
PartitionName=cpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
[ -f /etc/munge/munge.key ] || mungekey -c
chown -R munge:munge /etc/munge /run/munge /var/lib/munge /var/log/munge
pgrep -x munged > /dev/null || runuser -u munge -- munged
pgrep -x slurmctld > /dev/null || slurmctld
pgrep -x slurmd > /dev/null || slurmd
until sinfo --noheader --format=%T | grep -q idle; do sleep 1; done
sinfo
