"""Items of the store: put, get, delete, search with each filter operator, and namespaces."""

from __future__ import annotations

from typing import Any

from tests.conformance.langgraph_api.recorder import Scene

FILTERS: dict[str, Any] = {
    "equal": {"color": "red"},
    "equal to null": {"nothing": None},
    "two keys": {"color": "red", "size": 1},
    "nested value": {"deep": {"a": 1}},
    "list value": {"tags": ["x", "y"]},
    "missing key": {"none": 1},
    "$eq": {"color": {"$eq": "red"}},
    "$ne": {"color": {"$ne": "red"}},
    "$gt": {"size": {"$gt": 1}},
    "$gte": {"size": {"$gte": 2}},
    "$lt": {"size": {"$lt": 3}},
    "$lte": {"size": {"$lte": 1}},
    "$gt and $lt": {"size": {"$gt": 1, "$lt": 3}},
    "$gt with text": {"size": {"$gt": "1"}},
    "$gt of text": {"color": {"$gt": "blue"}},
    "$gt of a missing key": {"none": {"$gt": 1}},
    "$ne of a missing key": {"none": {"$ne": 1}},
    "unknown operator": {"size": {"$in": [1, 2]}},
    "bool for a number": {"size": True},
    "number for text": {"color": 1},
    "float for an int": {"size": 1.0},
    "dotted key": {"deep.a": 1},
    "empty object": {"deep": {}},
    "empty filter": {},
}
ITEMS: dict[str, dict[str, Any]] = {
    "one": {"color": "red", "size": 1, "deep": {"a": 1}, "tags": ["x", "y"], "nothing": None},
    "two": {"color": "blue", "size": 2, "deep": {"a": 2}},
    "three": {"color": "red", "size": 3},
}


async def items(scene: Scene) -> None:
    call, store, space = scene.call, scene.client.store, [scene.mark, "a"]
    await call("put", store.put_item(space, "key", {"a": 1, "deep": {"b": [None, 2.5]}}))
    await call("get", store.get_item(space, "key"))
    await call("put again", store.put_item(space, "key", {"a": 2}))
    await call("get again", store.get_item(space, "key"))
    await call("get a missing key", store.get_item(space, "none"))
    await call("get of a missing namespace", store.get_item([scene.mark, "none"], "key"))
    await call("refresh_ttl", store.get_item(space, "key", refresh_ttl=True))
    await call("put without an index", store.put_item(space, "plain", {"a": 1}, index=False))
    await call("put with an index", store.put_item(space, "fields", {"a": 1}, index=["a"]))
    await call("put with a ttl", store.put_item(space, "short", {"a": 1}, ttl=10))
    await call("get what has a ttl", store.get_item(space, "short"))
    await call("key with signs", store.put_item(space, "a/b c?ü", {"a": 1}))
    await call("get the key with signs", store.get_item(space, "a/b c?ü"))
    await call("empty namespace", store.put_item([], "key", {"a": 1}))
    await call("empty label", store.put_item([""], "key", {"a": 1}))
    await call("label with a period", store.put_item(["a.b"], "key", {"a": 1}))
    await call("namespace langgraph", store.put_item(["langgraph"], "key", {"a": 1}))
    await call("empty key", store.put_item(space, "", {"a": 1}))
    wrong: Any = [1]
    await call("value that is no object", store.put_item(space, "key", wrong))
    await call("label that is no text", store.put_item(wrong, "key", {"a": 1}))
    wrong = 5
    await call("key that is no text", store.put_item(space, wrong, {"a": 1}))
    await call("ttl that is negative", store.put_item(space, "short", {"a": 1}, ttl=-1))
    wrong = {"namespace": space, "key": "key"}
    await call("no value", scene.client.http.put("/store/items", json=wrong))
    wrong = {"namespace": "text", "key": "key", "value": {}}
    await call("namespace that is text", scene.client.http.put("/store/items", json=wrong))
    await call("delete", store.delete_item(space, "key"))
    await call("get after that", store.get_item(space, "key"))
    await call("delete again", store.delete_item(space, "key"))
    await call("delete without a key", scene.client.http.delete("/store/items", json={"namespace": space}))
    await call("get without a key", scene.client.http.get("/store/items", params={"namespace": scene.mark}))


async def filters(scene: Scene) -> None:
    call, store, space = scene.call, scene.client.store, [scene.mark, "filters"]
    for key, value in ITEMS.items():
        await store.put_item(space, key, value)
    for name, condition in FILTERS.items():
        found = store.search_items(space, filter=condition)
        await call(name, _sorted_keys(found))
    wrong: Any = [1]
    await call("filter that is a list", store.search_items(space, filter=wrong))


async def _sorted_keys(search: Any) -> list[str]:
    """Return the keys that a search finds, since their order is not specified."""
    return sorted(item["key"] for item in (await search)["items"])


async def search(scene: Scene) -> None:
    call, store, root = scene.call, scene.client.store, f"{scene.mark}-search"
    for number, space in enumerate(([root], [root, "a"], [root, "a", "b"], [root, "ab"]), 1):
        await store.put_item(space, f"k{number}", {"number": number})
    await call("search", store.search_items([root]))
    await call("prefix", _sorted_keys(store.search_items([root, "a"])))
    await call("prefix of a label", _sorted_keys(store.search_items([root[:-1]])))
    await call("no prefix", store.search_items([], filter={"number": 99}))
    await call("limit", store.search_items([root], limit=2))
    await call("offset", store.search_items([root], limit=2, offset=3))
    await call("offset past the end", store.search_items([root], offset=9))
    await call("query", _sorted_keys(store.search_items([root], query="one")))
    await call("search with refresh_ttl", _sorted_keys(store.search_items([root], refresh_ttl=True)))
    await call("none", store.search_items([root, "none"]))
    await call("limit 0", store.search_items([root], limit=0))
    await call("limit 10,000", store.search_items([root], limit=10_000))
    await call("negative offset", store.search_items([root], offset=-1))
    wrong: Any = "text"
    await call("prefix that is text", store.search_items(wrong))
    await call("limit that is text", store.search_items([root], limit=wrong))
    await call("namespaces", _sorted_spaces(store.list_namespaces(prefix=[root])))
    await call("suffix", _sorted_spaces(store.list_namespaces(prefix=[root], suffix=["b"])))
    await call("wildcard", _sorted_spaces(store.list_namespaces(prefix=[root, "*", "b"])))
    await call("max_depth", _sorted_spaces(store.list_namespaces(prefix=[root], max_depth=2)))
    await call("limit of namespaces", _sorted_spaces(store.list_namespaces(prefix=[root], limit=2)))
    await call(
        "offset of namespaces", _sorted_spaces(store.list_namespaces(prefix=[root], limit=2, offset=3))
    )
    await call("namespaces of none", store.list_namespaces(prefix=[root, "none"]))
    await call("max_depth 0", store.list_namespaces(prefix=[root], max_depth=0))
    await call("limit 0 of namespaces", store.list_namespaces(prefix=[root], limit=0))
    await call("prefix of namespaces that is text", store.list_namespaces(prefix=wrong))


async def _sorted_spaces(listing: Any) -> list[list[str]]:
    """Return the namespaces in a stable order."""
    return sorted((await listing)["namespaces"])


async def one_by_one(scene: Scene) -> None:
    """Run these one by one: in the reference, a failed operation makes simultaneous ones fail, too."""
    for part in (items, filters, search):
        await part(scene)


SCENARIOS = (one_by_one,)
