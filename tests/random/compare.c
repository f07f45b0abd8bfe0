/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <stdio.h>

#include "compare.h"

#include <stdlib.h>

#include "oracle-ila.h"
#include "oracle-frag.h"
#include "pk-frag.h"

#define GUARD 64
#define GUARD_BYTE 0xa5
#define ROOM 1024

static struct orc_want want;

void
compare_slot_init(struct compare_slot *slot)
{
    memset(slot, 0, sizeof *slot);
    slot->buf = malloc(GEN_MAX_PACKET + 2 * ROOM + 2 * GUARD);
    slot->copy = malloc(GEN_MAX_PACKET);
}

void
compare_slot_destroy(struct compare_slot *slot)
{
    free(slot->buf);
    free(slot->copy);
}

void
compare_slot_put(struct compare_slot *slot, uint32_t headroom,
                 uint32_t tailroom)
{
    slot->in.data = slot->copy;
    slot->in.headroom = headroom;
    slot->in.tailroom = tailroom;
    slot->size = headroom + slot->in.len + tailroom;
    memset(slot->buf, GUARD_BYTE, GUARD);
    memset(slot->buf + GUARD + slot->size, GUARD_BYTE, GUARD);
    memcpy(slot->buf + GUARD + headroom, slot->copy, slot->in.len);
    memset(&slot->job, 0, sizeof slot->job);
    slot->job.pk = slot->in;
    slot->job.pk.data = slot->buf + GUARD + headroom;
}

static bool
guards_are_whole(const struct compare_slot *slot)
{
    for (int i = 0; i < GUARD; i++) {
        if (slot->buf[i] != GUARD_BYTE
            || slot->buf[GUARD + slot->size + i] != GUARD_BYTE) {
            return false;
        }
    }
    return true;
}

/* The view is one of this buffer, and says how much room is left in it. */
static bool
view_is_right(const struct compare_slot *slot)
{
    const struct pk *pk = &slot->job.pk;
    const uint8_t *start = slot->buf + GUARD;
    const uint8_t *end = start + slot->size;

    return (pk->data >= start && pk->data <= end
            && pk->len <= (size_t) (end - pk->data)
            && pk->headroom == (size_t) (pk->data - start)
            && pk->tailroom <= (size_t) (end - pk->data - pk->len));
}

static void
ask_oracle(const struct orc_conf *conf, enum xlat_dir dir,
           const struct compare_slot *slot)
{
    struct orc_choice choice = { slot->job.pk.data, slot->job.pk.len };

    if (slot->job.verdict != XLAT_TRANSLATED) {
        choice.len = 0;
    }
    if (conf->kind == XLAT_KIND_ILA) {
        orc_ila(conf, &slot->in, dir, &choice, &want);
    } else {
        orc_siit(conf, &slot->in, &choice, &want);
    }
}

static bool
same_but_for_zeros(const uint8_t *p)
{
    for (size_t i = 0; i < want.len; i++) {
        bool same = p[i] == want.out[i];

        for (unsigned int j = 0; !same && j < want.n_loose; j++) {
            size_t ofs = want.loose[j];

            same = ((i == ofs || i == ofs + 1) && ofs + 2 <= want.len
                    && orc_get16(p + ofs) % 0xffff == 0
                    && orc_get16(want.out + ofs) % 0xffff == 0);
        }
        if (!same) {
            return false;
        }
    }
    return true;
}

static const char *
check_fragments(const struct pk *pk)
{
    static uint8_t buf[65536], mine[65536];
    struct orc_frag slow;
    struct pk_frag frag;
    int n, m;

    if (pk->flags & PK_L4_PARTIAL) {
        return NULL;                   /* To be completed before. */
    }
    pk_frag_init(&frag, pk);
    orc_frag_init(&slow, pk->data, pk->len, pk->frag_mtu, pk->frag_id);
    do {
        n = pk_frag_next(&frag, buf, sizeof buf);
        m = orc_frag_next(&slow, mine);
        if (n != m || (n > 0 && memcmp(buf, mine, n))) {
            return "fragments";
        }
    } while (n > 0);
    return NULL;
}

static const char *
check_translated(const struct compare_slot *slot)
{
    const struct pk *pk = &slot->job.pk;

    if (want.why.must) {
        return "translated, but should not be";
    }
    if (pk->len != want.len) {
        return "length of the result";
    }
    if (memcmp(pk->data, want.out, pk->len) && !same_but_for_zeros(pk->data)) {
        return "bytes of the result";
    }
    if (pk->gso_size < want.gso_min || pk->gso_size > want.gso_max) {
        return "GSO size";
    }
    if (!(pk->flags & PK_L4_PARTIAL) == want.partial) {
        return "flags of the result";
    }
    if (pk->frag_mtu != want.frag_mtu) {
        return "frag_mtu";
    }
    if (want.frag_id_set && pk->frag_id != want.frag_id) {
        return "frag_id";
    }
    return pk->frag_mtu ? check_fragments(pk) : NULL;
}

static const char *
check_dropped(const struct orc_conf *conf, bool errors_made,
              const struct compare_slot *slot)
{
    enum xlat_drop drop = slot->job.drop;

    if (drop >= XLAT_N_DROPS) {
        return "no such drop reason";
    }
    if (!((want.why.must | want.why.may) >> drop & 1)) {
        return want.why.must ? "drop reason" : "dropped, but should not be";
    }
    if (slot->job.verdict == XLAT_REPLY) {
        return orc_reply_check(conf, &slot->in, drop, &slot->job.pk);
    }
    if (errors_made && conf->kind == XLAT_KIND_SIIT
        && orc_reply_due(conf, &slot->in, drop)) {
        return "dropped without an ICMP error";
    }
    return NULL;
}

static const char *
check_passed(const struct compare_slot *slot)
{
    const struct pk *pk = &slot->job.pk;

    if (!want.may_pass) {
        return "passed, but should not be";
    }
    if (pk->len != slot->in.len || pk->headroom != slot->in.headroom
        || memcmp(pk->data, slot->copy, pk->len)
        || pk->flags != slot->in.flags
        || pk->gso_size != slot->in.gso_size || pk->frag_mtu) {
        return "passed, but changed";
    }
    return NULL;
}

const char *
compare_slot_check(const struct orc_conf *conf, enum xlat_dir dir,
                   bool errors_made, struct compare_slot *slot)
{
    enum xlat_verdict verdict = slot->job.verdict;

    if (!guards_are_whole(slot)) {
        return "bytes outside of the buffer";
    }
    if (verdict != XLAT_DROPPED && !view_is_right(slot)) {
        return "view of the buffer";
    }
    ask_oracle(conf, dir, slot);
    if (want.anything) {
        return NULL;
    }
    switch (verdict) {
    case XLAT_TRANSLATED:
        return check_translated(slot);
    case XLAT_REPLY:
        if (!errors_made) {
            return "an ICMP error in spite of a rate of 0";
        }
        /* Fall through. */
    case XLAT_DROPPED:
        if (want.may_pass && !(want.why.must
                               & ~(ORC_WHY(NOT_IP) | ORC_WHY(NO_MAPPING)))
            && !want.why.may) {
            return "not passed in spite of miss=pass";
        }
        return check_dropped(conf, errors_made, slot);
    case XLAT_PASSED:
        return check_passed(slot);
    default:
        return "no such verdict";
    }
}

/* Counters. */

void
compare_tally_add(struct compare_tally *tally, const struct compare_slot *slot)
{
    struct xlat_counters *c = &tally->want;
    const struct pk *in = &slot->in, *out = &slot->job.pk;
    bool four = in->len && in->data[0] >> 4 == 4;
    uint32_t ip_bytes = (in->len < 20 ? 0 : four ? orc_get16(in->data + 2)
                         : 40 + orc_get16(in->data + 4));

    c->packets++;
    c->bytes += in->len;
    if (ip_bytes < in->len) {
        tally->padding += in->len - ip_bytes;
    }
    switch (slot->job.verdict) {
    case XLAT_TRANSLATED:
        c->translated++;
        if (four) {
            c->translated_46++;
        } else if (out->data[0] >> 4 == 4) {
            c->translated_64++;
        } else {
            c->translated_66++;
        }
        c->fragmented += out->frag_mtu != 0;
        break;
    case XLAT_REPLY:
        c->replies++;
        c->reply_reasons[slot->job.drop]++;
        break;
    case XLAT_PASSED:
        c->passed++;
        break;
    case XLAT_DROPPED:
        c->drops[slot->job.drop]++;
        break;
    case XLAT_HELD:
        break;                   /* compare_slot_check() has complained. */
    }
}

const char *
compare_tally_check(const struct compare_tally *tally,
                    const struct xlat_zone *zone)
{
    const struct xlat_counters *want_ = &tally->want;
    struct xlat_counters got;

    xlat_zone_get_counters(zone, &got);
    if (got.bytes > want_->bytes
        || got.bytes + tally->padding < want_->bytes) {
        return "counter of bytes";
    }
    got.bytes = want_->bytes;
    got.replies_limited = want_->replies_limited;
    return memcmp(&got, want_, sizeof got) ? "counters" : NULL;
}

/* Printing. */

static void
print_hex(const char *title, const uint8_t *p, size_t n, FILE *file)
{
    fprintf(file, "%s (%zu bytes):", title, n);
    for (size_t i = 0; i < n; i++) {
        if (i % 32 == 0) {
            fprintf(file, "\n    ");
        }
        fprintf(file, "%02x", p[i]);
    }
    fprintf(file, "\n");
}

static void
print_reasons(const char *title, uint64_t mask, FILE *file)
{
    fprintf(file, "%s:", title);
    for (int i = 0; i < XLAT_N_DROPS; i++) {
        if (mask >> i & 1) {
            fprintf(file, " %s", xlat_drop_name(i));
        }
    }
    fprintf(file, "\n");
}

void
compare_slot_print(const struct orc_conf *conf, enum xlat_dir dir,
                   const struct compare_slot *slot, FILE *file)
{
    static const char *const names[] = {
        "translated", "reply", "passed", "dropped"
    };
    const struct xlat_job *job = &slot->job;

    ask_oracle(conf, dir, slot);
    fprintf(file, "headroom %u tailroom %u flags %u gso_size %u dir %d\n",
            slot->in.headroom, slot->in.tailroom, slot->in.flags,
            slot->in.gso_size, dir);
    print_hex("packet", slot->copy, slot->in.len, file);
    fprintf(file, "lib: %s", job->verdict < 4 ? names[job->verdict] : "?");
    if (job->verdict == XLAT_DROPPED || job->verdict == XLAT_REPLY) {
        fprintf(file, " %s", job->drop < XLAT_N_DROPS
                             ? xlat_drop_name(job->drop) : "?");
    } else {
        fprintf(file, ", frag_mtu %u frag_id %#x gso_size %u flags %u",
                job->pk.frag_mtu, job->pk.frag_id, job->pk.gso_size,
                job->pk.flags);
    }
    fprintf(file, "\n");
    if (job->verdict != XLAT_DROPPED && view_is_right(slot)) {
        print_hex("lib's result", job->pk.data, job->pk.len, file);
    }
    print_reasons("oracle: reasons", want.why.must, file);
    print_reasons("oracle: possible reasons", want.why.may, file);
    if (!want.why.must) {
        fprintf(file, "oracle: frag_mtu %u frag_id %#x gso_size %u..%u\n",
                want.frag_mtu, want.frag_id, want.gso_min, want.gso_max);
        print_hex("oracle's result", want.out, want.len, file);
    }
}
