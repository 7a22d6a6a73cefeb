/* Stands for pyxis and for CSCS' container engine: it takes their options of srun, and tells each task what they said.
 *
 * No container is made. The task is given STANDIN_IMAGE, STANDIN_MOUNTS and STANDIN_ENVIRONMENT in its environment, and
 * starts in the folder of --container-workdir, as in a container that has it. Without an image there is no workdir.
 * An image in a folder that is there must be there itself; what is started is noted in /run/standin/started, if that is.
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include <fcntl.h>
#include <libgen.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SPANK_PLUGIN(pyxis_standin, 1)

enum { IMAGE, MOUNTS, WORKDIR, ENVIRONMENT, NUMBER };
static const char *names[NUMBER] = {"container-image", "container-mounts", "container-workdir", "environment"};
static const char *variables[NUMBER] = {"STANDIN_IMAGE", "STANDIN_MOUNTS", "STANDIN_WORKDIR", "STANDIN_ENVIRONMENT"};
static const char *values[NUMBER];

static int said(int which, const char *value, int remote)
{
    (void)remote;
    values[which] = strdup(value);
    return ESPANK_SUCCESS;
}

int slurm_spank_init(spank_t spank, int count, char **words)
{
    (void)count;
    (void)words;
    for (int which = 0; which < NUMBER; which++) {
        struct spank_option option = {(char *)names[which], "VALUE", "as in pyxis", 1, which, said};
        if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
            return ESPANK_ERROR;
    }
    return ESPANK_SUCCESS;
}

static int started(const char *image)
{
    char *copy = strdup(image);
    int lacks = image[0] == '/' && access(image, R_OK) && !access(dirname(copy), X_OK);
    int record = open("/run/standin/started", O_WRONLY | O_APPEND);
    free(copy);
    if (lacks) {
        slurm_error("pyxis (stand-in): no such image: %s", image);
        return ESPANK_ERROR;
    }
    if (record >= 0) {
        dprintf(record, "%s\n", image);
        close(record);
    }
    return ESPANK_SUCCESS;
}

int slurm_spank_task_init(spank_t spank, int count, char **words)
{
    (void)count;
    (void)words;
    for (int which = 0; which < NUMBER; which++)
        if (values[which])
            spank_setenv(spank, variables[which], values[which], 1);
    if (values[IMAGE] && started(values[IMAGE]) != ESPANK_SUCCESS)
        return ESPANK_ERROR;
    if (values[WORKDIR] && chdir(values[WORKDIR]))
        return ESPANK_ERROR;
    return ESPANK_SUCCESS;
}
