"""What a deployment costs: does it fit, how long its steps take, what its tokens cost. `rooflight estimate` in data."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from rooflight.api.assumptions import assumptions
from rooflight.api.binding import StepSize, step_size
from rooflight.api.memory import MAX_TOKENS, USABLE, Deployed, deployment, memory
from rooflight.api.steps import Timed
from rooflight.pricing import BACKENDS, deployed_precision
from rooflight.spec import nearest
from rooflight.values import SpecError
from rooflight.walk import Family

if TYPE_CHECKING:
    from rooflight.expr import Value
    from rooflight.hardware import Fact, Gpu
    from rooflight.layout import Plan
    from rooflight.spec import Model, Precision

MAX_BATCH = 10**9
MAX_DRAFTED = 64  # tokens guessed ahead
HOUR = 3_600.0
MILLION = 1_000_000.0


class Ask(NamedTuple):
    """What is asked of a deployment.

    batch             sequences per attention-DP rank in decode, None for as many as fit
    context           tokens each of them holds in the decode step, None for input and output
    prefill_batch     prompts per rank behind TTFT
    speculative       tokens guessed ahead per step, of which each is accepted with `acceptance` once the ones before
                      it were
    ep_load_factor    rows of the busiest expert GPU, over the average
    usd_per_gpu_hour  instead of the listed price
    """

    input_tokens: int = 1_024
    output_tokens: int = 1_024
    batch: int | None = None
    context: int | None = None
    prefill_batch: int = 1
    usable: float = USABLE
    reserve_bytes: int = 0
    precision: str = "factory"
    drafts: bool = False
    speculative: int = 0
    acceptance: float = 1.0
    ep_load_factor: Value = 1
    head: str = "last"
    family: Family = Family()
    usd_per_gpu_hour: float | None = None
    backend: str = "sol"


class Estimate:
    """A model on GPUs under a plan. Nothing is computed before it is asked for, and then once.

    `listed` is what a GPU-hour costs; `picked` says that nobody named the plan. Raises SpecError for what nobody can
    ask for.
    """

    def __init__(
        self,
        model: Model,
        gpu: Gpu,
        plan: Plan,
        ask: Ask | None = None,
        listed: Fact | None = None,
        *,
        picked: bool = False,
    ) -> None:
        self.model = model
        self.gpu = gpu
        self.plan = plan
        self.ask = ask = ask or Ask()
        self.listed = listed
        self.picked = picked
        context = self.context
        for name, value, least, most in (
            ("speculative", ask.speculative, 0, MAX_DRAFTED),
            ("batch", 1 if ask.batch is None else ask.batch, 1, MAX_BATCH),
            ("context", context, ask.speculative + 1, 2 * MAX_TOKENS),
            ("acceptance", ask.acceptance, 0, 1),
            ("usd_per_gpu_hour", ask.usd_per_gpu_hour or 0, 0, 1e6),
        ):
            if not least <= value <= most:
                raise SpecError("bad-step", name, f"a number from {least} to {most:,}", str(value), f"correct {name}")
        if ask.backend not in BACKENDS:
            known = tuple(BACKENDS)
            raise SpecError(
                "bad-step", "backend", "one of " + ", ".join(known), ask.backend, nearest(ask.backend, known)
            )
        _ = self.deployment  # a plan that cannot even be laid out is refused here, before anything is cut by it

    @cached_property
    def profile(self) -> Precision:
        """The precision that is asked for."""
        return step_size(self.model, precision=self.ask.precision).precision

    @cached_property
    def precision(self) -> Precision:
        """The same as the GPU can run it."""
        return deployed_precision(self.profile, self.model.dtype, self.gpu)

    @cached_property
    def deployment(self) -> dict[str, Any]:
        """The plan, its GPUs, and why it could not run."""
        return deployment(self.model, self.plan, precision=self.ask.precision, family=self.ask.family)

    @cached_property
    def memory(self) -> dict[str, Any]:
        """What the fullest GPU holds, and how many requests fit."""
        ask = self.ask
        return memory(
            self.model,
            self.plan,
            self.gpu.memory_bytes,
            input_tokens=ask.input_tokens,
            output_tokens=ask.output_tokens,
            context=ask.context,
            usable=ask.usable,
            reserve_bytes=ask.reserve_bytes,
            precision=self.precision,
            drafts=ask.drafts,
            new_tokens=ask.speculative + 1,
            ep_load_factor=ask.ep_load_factor,
            family=ask.family,
        )

    @property
    def needed_bytes(self) -> int:
        """Bytes that one request needs on the fullest GPU, weights and activations of the dearer phase included."""
        held = self.memory
        activations = max(held["activation_bytes_per_request"].values())
        return held["weights_bytes"] + held["kv_bytes_per_request"] + activations

    # ---------------------------------------------------------------------------------------------- decode

    @property
    def batch(self) -> int:
        """Sequences per attention-DP rank in decode: as asked, or as many as fit, at least one."""
        return max(1, self.memory["max_batch_decode"]) if self.ask.batch is None else self.ask.batch

    @property
    def context(self) -> int:
        """Tokens each sequence holds in the decode step."""
        asked = self.ask.context
        return self.ask.input_tokens + self.ask.output_tokens if asked is None else asked

    @property
    def micro_batches(self) -> int:
        """Parts of the batch that are in the pipeline at once: one per stage, where there are as many sequences."""
        return min(self.plan.pp, self.batch)

    @cached_property
    def decode(self) -> Timed:
        """One micro batch of the decode step."""
        micro = -(-self.batch // self.micro_batches)
        step = self._step("decode", batch=micro, context=self.context, new_tokens=self.ask.speculative + 1)
        return self._timed(step)

    @cached_property
    def step_seconds(self) -> float:
        """Seconds between two steps of one sequence: every micro batch passes every stage.

        The slowest stage sets the pace where the pipeline is full, and the way through all of them where it is not.
        """
        each = self.decode.seconds
        return max(self.micro_batches * max(each), sum(each))

    @property
    def tokens_per_step(self) -> float:
        """Tokens a sequence gains per step: the one that is always right, and each guess if all before it were."""
        return sum(self.ask.acceptance**guess for guess in range(self.ask.speculative + 1))

    @property
    def output_rate(self) -> float:
        """Output tokens per second of one replica."""
        return self.batch * self.plan.attn_dp * self.tokens_per_step / self.step_seconds

    # --------------------------------------------------------------------------------------------- prefill

    @cached_property
    def prefill(self) -> Timed:
        """The first prompts of every rank."""
        return self._timed(self._step("prefill", batch=self.ask.prefill_batch, context=self.ask.input_tokens))

    @cached_property
    def ttft_seconds(self) -> float:
        """Seconds until prompts that arrive at idle GPUs have passed all stages."""
        return sum(self.prefill.seconds)

    @property
    def saturated_batch(self) -> int:
        """Prompts per rank and step where as many prefill at once as fit."""
        return max(1, self.memory["max_batch_prefill"])

    @cached_property
    def saturated(self) -> Timed:
        """A prefill step of as many prompts as fit."""
        return self._timed(self._step("prefill", batch=self.saturated_batch, context=self.ask.input_tokens))

    @property
    def input_rate(self) -> float:
        """Input tokens per second of one replica that does nothing but prefill."""
        tokens = self.saturated_batch * self.plan.attn_dp * self.ask.input_tokens
        return tokens / max(self.saturated.seconds)

    # ------------------------------------------------------------------------------------------- what it costs

    @property
    def replica_gpus(self) -> int:
        """GPUs of one replica."""
        return self.plan.stage_gpus * self.plan.pp

    @property
    def usd_per_gpu_hour(self) -> float | None:
        """What a GPU-hour costs; None where nobody says."""
        if self.ask.usd_per_gpu_hour is not None:
            return self.ask.usd_per_gpu_hour
        return None if self.listed is None else self.listed.value

    def usd_per_million(self, rate: float) -> float | None:
        """Return the price of a million tokens at a replica's tokens per second; all its GPUs are billed."""
        hourly = self.usd_per_gpu_hour
        return None if hourly is None else hourly * self.replica_gpus / HOUR / rate * MILLION

    def joules(self, rate: float) -> float | None:
        """Return the energy of a token at a replica's tokens per second, every GPU drawing what it is designed for."""
        power = self.gpu.facts.get("tdp")
        return None if power is None else power.value * self.replica_gpus / rate

    # ------------------------------------------------------------------------------------------------ answers

    def _timed(self, step: StepSize) -> Timed:
        deployed = Deployed(self.model, step, self.plan, self.ask.family)
        return Timed(deployed, self.gpu, BACKENDS[self.ask.backend])

    def _step(self, phase: str, **sizes: Any) -> StepSize:
        ask = self.ask
        return step_size(
            self.model,
            phase,
            head=ask.head,
            precision=self.precision,
            drafts=ask.drafts,
            ep_load_factor=ask.ep_load_factor,
            **sizes,
        )

    def summary(self) -> dict[str, Any]:
        """Return the deployment's figures without its kernels."""
        ask, held = self.ask, self.memory
        return {
            "model": self.model.id,
            "gpu": self.gpu.name,
            "gpu_status": self.gpu.status,
            "capacity_source": self.gpu.facts["memory"].origin,
            "warnings": list(self.model.warnings),
            "precision": ask.precision,
            "deployment": self.deployment,
            "beyond_published_context": self.longest > self.model.max_context,
            "memory": held,
            "prefill": {
                "batch": ask.prefill_batch,
                "context": ask.input_tokens,
                "fits": ask.prefill_batch <= held["max_batch_prefill"],
                "ttft_s": self.ttft_seconds,
                "share": self.prefill.share,
                "stage": self.prefill.slowest + 1,
                "saturated": {
                    "batch": self.saturated_batch,
                    "step_s": max(self.saturated.seconds),
                    "tok_s_gpu": self.input_rate / self.replica_gpus,
                },
            },
            "decode": {
                "batch": self.batch,
                "global_batch": self.batch * self.plan.attn_dp * self.plan.replicas,
                "context": self.context,
                "fits": self.batch <= held["max_batch_decode"],
                "new_tokens": ask.speculative + 1,
                "tokens_per_step": self.tokens_per_step,
                "micro_batches": self.micro_batches,
                "step_s": self.step_seconds,
                "tpot_s": self.step_seconds / self.tokens_per_step,
                "share": self.decode.share,
                "stage": self.decode.slowest + 1,
                "tok_s_gpu": self.output_rate / self.replica_gpus,
                "tok_s_user": self.tokens_per_step / self.step_seconds,
            },
            "price": {
                "usd_per_gpu_hour": self.usd_per_gpu_hour,
                "source": self.price_source,
                "usd_per_million_input": self.usd_per_million(self.input_rate),
                "usd_per_million_output": self.usd_per_million(self.output_rate),
            },
            "energy": {
                "joule_per_input_token": self.joules(self.input_rate),
                "joule_per_output_token": self.joules(self.output_rate),
            },
            "assumptions": assumptions(self),
        }

    @property
    def longest(self) -> int:
        """The longest sequence of either step."""
        return max(self.context, self.ask.input_tokens + self.ask.output_tokens)

    @property
    def price_source(self) -> str | None:
        """Who says what a GPU-hour costs."""
        if self.ask.usd_per_gpu_hour is not None:
            return "as given"
        return None if self.listed is None else self.listed.origin

    def report(self) -> dict[str, Any]:
        """Return the deployment's figures with the kernels of both steps."""
        found = self.summary()
        found["prefill"]["kernels"] = self.prefill.rows()
        found["decode"]["kernels"] = self.decode.rows()
        return found
