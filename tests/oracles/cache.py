"""Bytes of key/value cache, by the definitions the papers give. All functions are polynomials or sums of min()."""


def mha_bytes_per_token(L, Hkv, dh, width):
    """One key and one value per KV head and layer (Shazeer, "One write-head is all you need"; GQA: Hkv < H).

    Kept apart from any query-head count on purpose: cases kv-extra-head-factor and kv-groups-meaning."""
    return 2 * L * Hkv * dh * width


def mla_bytes_per_token(L, d_c, d_rope, width):
    """One latent and one rope key, shared by all heads (DeepSeek-V2 report, table 1)."""
    return L * (d_c + d_rope) * width


def mla_decompressed_bytes_per_token(L, H, d_nope, d_rope, d_v, width):
    """What an engine that stores full keys and values holds: per head d_nope + d_v, and the rope part once."""
    return L * (H * (d_nope + d_v) + d_rope) * width


def held_tokens(context, window):
    """Positions a layer keeps: all of them, or the last `window`."""
    return context if window is None else min(context, window)


def request_bytes(context, layers, width):
    """One sequence of `context` tokens. `layers` is (count, KV heads, head width, window or None) per kind of layer."""
    return sum(count * 2 * Hkv * dh * width * held_tokens(context, window) for count, Hkv, dh, window in layers)


def largest_context(pool, layers, width):
    """Longest single sequence whose cache fits in `pool` bytes, by bisection over request_bytes."""
    low, high = 0, 1
    while request_bytes(high, layers, width) <= pool:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if request_bytes(middle, layers, width) <= pool else (low, middle)
    return low


def mamba2_state_elements(heads, head_width, state):
    """The recurrent state of one Mamba-2 layer and sequence (Dao and Gu, "Transformers are SSMs")."""
    return heads * head_width * state


def mamba2_conv_elements(heads, head_width, groups, state, conv):
    """What its convolution must remember: the positions before the current one, of all its channels."""
    return (heads * head_width + 2 * groups * state) * (conv - 1)
