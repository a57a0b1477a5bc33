"""What pages of the web console show in tests, and the looks in which they are tested."""

from __future__ import annotations

from tests.browser.tab import PHONE
from tests.platforms.web.serving import World

ATTACK = "<img src=x onerror='window.hit=1'><script>window.hit=2</script>"
LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1200, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": PHONE},
}


async def furnish(service: World) -> None:
    """Create data for most sections."""
    conversation = await service.open()
    await service.turn((await service.say(conversation, ATTACK))["turn"])
    schedule = {"conversation": conversation, "when": "every 6 hours", "text": ATTACK}
    for path, body in (
        ("/api/schedules", schedule),
        ("/api/memory/facts", {"content": ATTACK}),
    ):
        answer = await service.http.post(path, json=body)
        assert answer.status_code == 201, answer.text
    answer = await service.http.put("/api/access/telegram:7", json={"role": "admin"})
    assert answer.status_code == 200, answer.text
