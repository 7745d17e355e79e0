"""Refusals of schemes, plans, GPU files and snapshots, word for word as in docs/errors.md."""

import error_examples
import pytest

MESSAGES = """\
bad-plan at plan
  expected  one of attn_dp, attn_tp, cp, ep, etp, pp, replicas
  got       eq
  fix       remove it, or use one of the expected words

unknown-scheme at specs/precision/eight.yaml:2 eight.weights
  expected  factory, a dtype or a scheme of specs/quant
  got       BF61
  fix       you may have intended BF16

ambiguous-scheme at config.json quantization_config
  expected  one scheme that answers to it
  got       one, two
  fix       name the scheme in storage.yaml beside the config

plan-heads at plan attn_tp
  expected  a divisor of n_heads = 8
  got       3
  fix       attn_tp=2

plan-experts at plan ep
  expected  ep=1 and etp=1 in a model without experts
  got       ep=8, etp=1
  fix       use attn_tp

plan-layout at plan
  expected  etp over attn_tp 2 × attn_dp 2, and ep over what is left and cp 1
  got       etp 1, ep 8
  fix       choose an etp that divides attn_tp × attn_dp, and an ep that divides what it leaves of the stage

plan-width at plan attn_tp
  expected  a divisor of d_ffn = 100
  got       8
  fix       attn_tp=4

plan-blocks at plan attn_tp
  expected  d_ffn 384 / attn_tp a multiple of the block of 128
  got       48
  fix       attn_tp=1

plan-stages at plan pp
  expected  at most 4 stages, one layer each
  got       5
  fix       pp=4

unsourced at some_gpu.yaml:2 memory
  expected  source, or copied_from where nobody opened one
  got       neither
  fix       say where it is from

snapshot-exists at garden--fern-1b
  expected  no such folder yet
  got       one that is there
  fix       pass --replace to take its place, or --out for another folder

spec-exists at fern.yaml
  expected  no such file yet
  got       one that is there
  fix       pass another name with --out

cannot-write at trial/models/fern.yaml
  expected  a place that can be written
  got       Not a directory
  fix       pass another folder with --out

no-checkpoint at fern 1b
  expected  ORG/NAME as on the hub, or the path of a config.json, or of a folder that holds one
  got       neither
  fix       check the path, or the spelling of ORG/NAME
"""


@pytest.mark.parametrize("message", MESSAGES.split("\n\n"), ids=lambda message: message.split()[0])
def test_a_refusal_says_what_to_do(message):
    assert str(error_examples.refusal(message.split()[0])) == message.strip()
