# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What quota commands print, in the forms that their documents and users show; names and numbers are made up."""

QUOTA = """Disk quotas for user ada (uid 1001):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
filer.example.org:/vol/very/long/export/of/homes
                 9500000* 9000000 10000000   6days   95000  100000  110000
      /dev/sda1     120       0       0              10       0       0
      /dev/sdb1     120    1000    2000            2100*   2000    3000   23:59
"""

QUOTA_S = """Disk quotas for user someuser (uid 12345):
     Filesystem   space   quota   limit   grace   files   quota   limit   grace
192.168.0.1:/      249M    100G    105G            4953    500k   1000k
/dev/mapper/work    21G*    20G     30G    none     12       0       0
"""

QUOTA_NONE = "Disk quotas for user ada (uid 1001): none\n"

LFS = """Disk quotas for usr ada (uid 1001):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
        /lustre   99000       0  100000       -     500       0    1000       -
uid 1001 is using default file quota setting
Disk quotas for grp lab (gid 2001):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
        /lustre     [10]      0  200000       -     999       0    1000       -
"""

CSCS = """Retrieving data ...

User: ada
Usage data updated on: 2026-11-21 11:10:02
+----------------------------+--------+--------+------+---------+--------+------+-------------+----------+------+----------+-----------+------+-------------+
|                                     |        User quota       |          Proj quota         |         User files         |    Proj files    |             |
+----------------------------+--------+--------+------+---------+--------+------+-------------+----------+------+----------+-----------+------+-------------+
| Directory                  | FS     |   Used |    % |   Grace |   Used |    % | Quota limit |     Used |    % |    Grace |      Used |    % | Files limit |
+----------------------------+--------+--------+------+---------+--------+------+-------------+----------+------+----------+-----------+------+-------------+
| /iopsstor/scratch/cscs/ada | lustre |  32.0G |    - |       - |      - |    - |           - |     7746 |    - |        - |         - |    - |           - |
| /capstor/users/cscs/ada    | lustre |   3.2G |  6.4 |       - |      - |    - |       50.0G |   474471 | 94.9 |        - |         - |    - |      500000 |
| /capstor/store/cscs/lab    | 263.9T | 88.0 |      - |    - |      300.0T | 18216778 | 91.1 |         - |    - |    20000000 |
| /capstor/scratch/cscs/ada  | lustre | 160.0T | 106. |  13days |      - |    - |      150.0T |   336479 | 33.6 |        - |         - |    - |     1000000 |
| /vast/users/cscs/ada       | vast   |  11.7G | 23.3 | Unknown |      - |    - |       50.0G |    85014 | 17.0 |  Unknown |         - |    - |      500000 |
+----------------------------+--------+--------+------+---------+--------+------+-------------+----------+------+----------+-----------+------+-------------+
"""  # noqa: E501  # tables as they are printed

ALLIANCE = """                             Description                Space           # of files
                 Home (username)         280 kB/47 GB              25/500k
            /scratch (user ada)          19 TB/20 TB            960k/1000k
          /project (project x)         88GiB/ unlimited           5K/10K
     /project (project rrg-ada)          0  B/1024GiB             7 /2000K

-- A break down per user may be available by adding the option '--all_users'.
"""

DSS = """
********************************************************************************
*                You have access to the following DSS Containers:              *
*                                                                              *
* pr12ab-dss-0000 at /dss/dssfs04/lwp-dss-0002/pr12ab/pr12ab-dss-0000          *
********************************************************************************

********************************************************************************
*                         DSS Homedir info for go42tum:                        *
*                                                                              *
* Your DSS based home directory is at /dss/dsshome1/03/go42tum                 *
*                                                                              *
*               95 of 100              GB    used                              *
*                                                                              *
*           242415 of Unlimited        Files used                              *
********************************************************************************

********************************************************************************
*                       DSS Container usage and limits:                        *
*                                                                              *
* pr12ab-dss-0000                  3973 of 4000             GB    used         *
*                                                                              *
* pr12ab-dss-0000               1483866 of 8000000          Files used         *
********************************************************************************

********************************************************************************
*                      DSS usage and limits for go42tum:                       *
*                                                                              *
* pr12ab-dss-0000                   220 of Container MAX    GB    used         *
********************************************************************************
"""

DF = """Filesystem                      Size  Used Avail Use% Mounted on
/dev/mapper/home                 20G   19G  512M  98% /home
a-very-long-server-name:/export
                                7.0T  3.0T  4.0T  43% /data
"""
