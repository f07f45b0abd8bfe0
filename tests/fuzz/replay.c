/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Runs a fuzz target on the files that the arguments name, so that inputs
 * that once crashed it are tried by every build, with any compiler. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The whole of 'stream' in memory of exactly its size, so that a sanitizer
 * sees a read past its end. */
static uint8_t *
read_all(FILE *stream, size_t *size)
{
    uint8_t *data;

    fseek(stream, 0, SEEK_END);
    *size = ftell(stream);
    rewind(stream);
    data = malloc(*size ? *size : 1);
    if (data && fread(data, 1, *size, stream) != *size) {
        free(data);
        data = NULL;
    }
    return data;
}

static int
replay(const char *name)
{
    FILE *stream = fopen(name, "rb");
    uint8_t *data;
    size_t size;

    if (!stream) {
        perror(name);
        return 1;
    }
    data = read_all(stream, &size);
    fclose(stream);
    if (!data) {
        fprintf(stderr, "%s: cannot be read\n", name);
        return 1;
    }
    fprintf(stderr, "%s\n", name);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

int
main(int argc, char *argv[])
{
    int failed = 0;

    for (int i = 1; i < argc; i++) {
        failed |= replay(argv[i]);
    }
    return failed;
}
