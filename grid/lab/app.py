"""One simulated app: its variables, its current screen, and what input does to them.

Synchronous and free of I/O; time is passed in. While a transition to another screen runs, the old
screen stays and input to the app is lost, as on a phone that is animating. What only the phone can
do (leave, crash) is asked for by the return value.

May be imported by: grid.lab, tests. Imports: grid.lab, runner.model.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, final

from grid.lab.appdraw import FIELD_KINDS, ScreenDrawing, Shown, is_tappable
from grid.lab.appfile import ROW_VARIABLE, AppSpec, LinkSpec, NodeSpec, PromptSpec, Rule, ScreenSpec
from grid.lab.expression import Value, evaluate, is_true, render_template
from grid.lab.node import SimNode
from grid.lab.scroll import Scroll, drag_scroll, fling_scroll

AppWish: TypeAlias = Literal["leave", "crash"]
"""What a rule asks of the phone."""

_MAX_PRESSES: Final = 8


@final
class SimApp:
    """One installed app. `running` says whether it has a process."""

    def __init__(self, spec: AppSpec) -> None:
        self.spec = spec
        self.running = False
        self.prompt: PromptSpec | None = None
        self.focus = ""
        self.caret = 0
        self._screens = {screen.id: screen for screen in spec.screen}
        self._saved: dict[str, Value] = dict(spec.saved)
        self._memory: dict[str, Value] = dict(spec.memory)
        self._screen: ScreenSpec = spec.screen[0]
        self._opened_at = 0.0
        self._pending: tuple[str, float] | None = None
        self._scrolls: dict[str, Scroll] = {}
        self._shown: dict[str, Shown] = {}

    # -- Life ------------------------------------------------------------------------------------

    def start(self, now: float) -> AppWish | None:
        """Start the process on its first screen; a running one stays as it is."""
        if self.running:
            return None
        self.running = True
        self._memory = dict(self.spec.memory)
        rule = self._first(self.spec.start, {})
        return self._open(rule.goto if rule else self.spec.screen[0].id, now)

    def stop(self) -> None:
        """End the process; saved variables stay."""
        self.running = False
        self.prompt = None
        self.focus = ""
        self._pending = None
        self._shown = {}

    def clear(self) -> None:
        """End the process and forget the saved variables."""
        self.stop()
        self._saved = dict(self.spec.saved)

    def advance(self, now: float) -> AppWish | None:
        """Carry out the transition that is due."""
        if self._pending is None or now < self._pending[1]:
            return None
        target, due = self._pending
        return self._open(target, due)

    # -- What it shows ---------------------------------------------------------------------------

    @property
    def screen(self) -> str:
        """The id of the screen that is shown."""
        return self._screen.id

    def is_due(self, now: float) -> bool:
        """Tell whether a transition has to be carried out."""
        return self._pending is not None and now >= self._pending[1]

    @property
    def is_moving(self) -> bool:
        """Whether a transition runs."""
        return self._pending is not None

    def settled_at(self, now: float) -> float:
        """Return when transitions and coasting lists that run now will have ended."""
        ends = [now]
        if self._pending is not None:
            ends.append(self._pending[1])
        ends += [scroll.at + scroll.lasts_s for scroll in self._scrolls.values()]
        return max(ends)

    def state(self) -> dict[str, Value]:
        """Return all variables."""
        return {**self._saved, **self._memory}

    def draw(self, now: float) -> tuple[SimNode, ...]:
        """Return the nodes of the current screen."""
        drawing = ScreenDrawing(
            self._screen,
            bundle=self.spec.id,
            names=self.state(),
            focus=self.focus,
            elapsed_ms=(now - self._opened_at) * 1000,
            offset_of=lambda ref, limit: self._scrolls.get(ref, Scroll()).offset_at(now, limit),
        )
        self._shown = drawing.shown
        return drawing.nodes

    # -- Input -----------------------------------------------------------------------------------

    def has_tap(self, ref: str) -> bool:
        """Tell whether tapping a node of the last drawn screen does anything."""
        shown = self._shown.get(ref)
        return shown is not None and is_tappable(shown.spec)

    def tap(self, ref: str, now: float, *, is_long: bool = False) -> AppWish | None:
        """Tap a node of the last drawn screen. Disabled nodes and moving screens ignore it."""
        shown = self._shown.get(ref)
        if shown is None or not shown.is_enabled or self.is_moving:
            return None
        if shown.spec.kind in FIELD_KINDS:
            self._set_focus(ref)
        if shown.spec.kind == "switch":
            self._assign(shown.spec.bind, not self.state()[shown.spec.bind])
        rules = shown.spec.long_press if is_long and shown.spec.long_press else shown.spec.tap
        return self.run_rules(rules, shown.names, now)

    def drag_list(self, ref: str, delta: float, now: float) -> None:
        """Move a list's content by `delta` points (positive shows later rows)."""
        shown = self._shown.get(ref)
        if shown is not None and not self.is_moving:
            limit = shown.scroll_limit
            scroll = self._scrolls.get(ref, Scroll())
            self._scrolls[ref] = drag_scroll(scroll, delta, now=now, limit=limit)

    def fling_list(self, ref: str, speed: float, now: float) -> None:
        """Let a list's content coast."""
        shown = self._shown.get(ref)
        if shown is not None and not self.is_moving:
            limit = shown.scroll_limit
            scroll = self._scrolls.get(ref, Scroll())
            self._scrolls[ref] = fling_scroll(scroll, speed, now=now, limit=limit)

    def stop_list(self, ref: str, now: float) -> bool:
        """Stop a coasting list; False when it was at rest."""
        shown = self._shown.get(ref)
        scroll = self._scrolls.get(ref)
        if shown is None or scroll is None or now >= scroll.at + scroll.lasts_s:
            return False
        self.drag_list(ref, 0, now)
        return True

    def field_contents(self, tree: SimNode) -> dict[str, str]:
        """Return what really stands in the fields of a drawn tree, by id."""
        state = self.state()
        found: dict[str, str] = {}
        for node in tree.walk():
            shown = self._shown.get(node.ref)
            if shown is not None and shown.spec.kind in FIELD_KINDS:
                found[node.id] = str(state[shown.spec.bind])
        return found

    def back(self, now: float) -> AppWish | None:
        """Do what the screen's back rules say."""
        return None if self.is_moving else self.run_rules(self._screen.back, {}, now)

    def takes_link(self, url: str) -> bool:
        """Tell whether the app has a deep link that fits."""
        return self._find_link(url) is not None

    def open_link(self, url: str, now: float) -> AppWish | None:
        """Follow a deep link."""
        found = self._find_link(url)
        if found is None:
            return None
        link, number = found
        if link.number:
            self._assign(link.number, number)
        return self.run_rules(link.do, {}, now)

    def _find_link(self, url: str) -> tuple[LinkSpec, int] | None:
        for link in self.spec.link:
            rest = url[len(link.prefix) :].partition("?")[0].strip("/")
            is_number = rest.isascii() and rest.isdigit() and len(rest) < 10
            if url.startswith(link.prefix) and (is_number if link.number else not rest):
                return link, int(rest) if is_number else 0
        return None

    def answer_prompt(self, button_id: str, now: float) -> AppWish | None:
        """Press a button of the dialog that is shown."""
        prompt, self.prompt = self.prompt, None
        for button in prompt.button if prompt else ():
            if button.id == button_id:
                return self.run_rules(button.do, {}, now)
        return None

    # -- Text ------------------------------------------------------------------------------------

    def focused_text(self) -> str:
        """Return the real content of the focused field."""
        field = self._focused_field()
        return str(self.state().get(field.bind, "")) if field else ""

    def insert_text(self, text: str) -> bool:
        """Type into the focused field what it accepts; False when none is focused."""
        field = self._focused_field()
        if field is None or self.is_moving:
            return False
        taken = "".join(c for c in text if c.isprintable() or c == "\u200d")
        if field.accept == "digits":
            taken = "".join(c for c in taken if c.isascii() and c.isdigit())
        old = self.focused_text()
        taken = taken[: max(0, field.max_length - len(old))]
        self._assign(field.bind, old[: self.caret] + taken + old[self.caret :])
        self.caret += len(taken)
        return True

    def delete_text(self, *, forward: bool = False) -> None:
        """Delete one character before (or after) the caret."""
        field = self._focused_field()
        if field is None or self.is_moving:
            return
        at = self.caret + 1 if forward else self.caret
        old = self.focused_text()
        if 1 <= at <= len(old):
            self._assign(field.bind, old[: at - 1] + old[at:])
            self.caret = at - 1

    def press_key(self, name: str, clipboard: str, now: float) -> AppWish | None:
        """Press an editing key in the focused field."""
        match name:
            case "enter":
                return self.submit(now)
            case "delete" | "forward_delete":
                self.delete_text(forward=name == "forward_delete")
            case "move_home":
                self.caret = 0
            case "move_end":
                self.caret = len(self.focused_text())
            case "paste":
                self.insert_text(clipboard)
            case _:
                pass  # A tab in a form of one column moves nothing here.
        return None

    def clear_text(self) -> None:
        """Empty the focused field."""
        field = self._focused_field()
        if field is not None:
            self._assign(field.bind, "")
            self.caret = 0

    def submit(self, now: float) -> AppWish | None:
        """Press return: the field's submit rules, or leaving the field when it has none."""
        field = self._focused_field()
        if field is None or self.is_moving:
            return None
        if not field.submit:
            self.focus = ""
            return None
        ref = self.focus
        wish = self.run_rules(field.submit, {}, now)
        if self.focus == ref:
            self.focus = ""
        return wish

    def _focused_field(self) -> NodeSpec | None:
        shown = self._shown.get(self.focus)
        return shown.spec if shown is not None else None

    def _set_focus(self, ref: str) -> None:
        self.focus = ref
        self.caret = len(self.focused_text())

    # -- Rules -----------------------------------------------------------------------------------

    def run_rules(
        self, rules: Sequence[Rule], names: Mapping[str, Value], now: float, depth: int = 0
    ) -> AppWish | None:
        """Carry out the first rule that holds. `names` adds a row's number to the variables."""
        row = {ROW_VARIABLE: names[ROW_VARIABLE]} if ROW_VARIABLE in names else {}
        rule = self._first(rules, row)
        if rule is None:
            return None
        for name, expression in rule.set.items():
            self._assign(name, evaluate(expression, {**self.state(), **row}))
        if rule.crash:
            return "crash"
        if rule.leave:
            return "leave"
        if rule.prompt:
            self.prompt = self.spec.prompt[rule.prompt]
        if rule.goto:
            self._pending = (rule.goto, now + self.spec.transition_ms / 1000)
        for ref, shown in tuple(self._shown.items()):
            shown_id = render_template(shown.spec.id, shown.names)
            if rule.focus and shown_id == rule.focus:
                self._set_focus(ref)
            if rule.press and shown_id == rule.press and shown.is_enabled and depth < _MAX_PRESSES:
                return self.run_rules(shown.spec.tap, shown.names, now, depth + 1)
        return None

    def _first(self, rules: Sequence[Rule], row: Mapping[str, Value]) -> Rule | None:
        names = {**self.state(), **row}
        return next((r for r in rules if r.when is None or is_true(r.when, names)), None)

    def _assign(self, name: str, value: Value) -> None:
        store = self._saved if name in self._saved else self._memory
        store[name] = value

    def _open(self, screen: str, now: float) -> AppWish | None:
        self._pending = None
        self._screen = self._screens[screen]
        self._opened_at = now
        self.focus = ""
        self._scrolls = {}
        self._shown = {}
        return self.run_rules(self._screen.enter, {}, now)
