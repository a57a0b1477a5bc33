"""The manifests of the web console and the terminal."""

from bot.platforms.manifest import Budget, Manifest, Scope

_OWN = "Roebot's own limit: as many updates as a person can perceive, to keep the cost of a turn low"


def _describe(platform: str, title: str) -> Manifest:
    return Manifest(
        platform=platform,
        title=title,
        adapter=f"bot.platforms.local.adapter:create_{platform}",
        extra="",
        activity="a line that says that the agent is working",
        budgets=(Budget(Scope.CHAT, 50, 1.0, _OWN),),
        first_frame_after=0.0,
        first_frame_characters=1,
        frame_interval=0.05,
    )


WEB = _describe("web", "Web page")
TERMINAL = _describe("terminal", "Terminal")
