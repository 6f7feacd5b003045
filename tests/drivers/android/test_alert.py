"""Alerts in trees."""

from drivers.android.alert import Alert, find_alert
from runner.model.screen import Node, Rect, Snapshot


def screen(*nodes: tuple[str, str, str]) -> Snapshot:
    return Snapshot(
        platform="android",
        width=100,
        height=100,
        nodes=tuple(
            Node(
                index=index,
                identifier=identifier,
                label=label,
                bundle=bundle,
                rect=Rect(index * 10, 0, 10, 20),
            )
            for index, (identifier, label, bundle) in enumerate(nodes)
        ),
    )


def test_a_permission_prompt_is_found_with_its_text() -> None:
    controller = "com.android.permissioncontroller"
    found = find_alert(
        screen(
            (f"{controller}:id/permission_message", "Allow Shop to notify you?", controller),
            (f"{controller}:id/permission_deny_button", "Don't allow", controller),
            (f"{controller}:id/permission_allow_button", "Allow", controller),
        )
    )

    assert found == Alert(text="Allow Shop to notify you?", accept=(25, 10), dismiss=(15, 10))


def test_an_app_dialog_is_found_by_the_ids_of_the_platform() -> None:
    found = find_alert(
        screen(
            ("com.shop:id/alertTitle", "Delete?", "com.shop"),
            ("android:id/message", "This cannot be undone.", "com.shop"),
            ("android:id/button1", "OK", "com.shop"),
            ("android:id/button2", "Cancel", "com.shop"),
        )
    )

    assert found == Alert(text="Delete?\nThis cannot be undone.", accept=(25, 10), dismiss=(35, 10))


def test_a_lone_button_accepts_and_dismisses() -> None:
    found = find_alert(screen(("android:id/button1", "OK", "com.shop")))

    assert found is not None
    assert found.accept == found.dismiss


def test_an_app_that_is_not_responding_shows_an_alert() -> None:
    found = find_alert(
        screen(
            ("android:id/alertTitle", "Shop isn't responding", "android"),
            ("android:id/aerr_close", "Close app", "android"),
            ("android:id/aerr_wait", "Wait", "android"),
        )
    )

    assert found == Alert(text="Shop isn't responding", accept=(25, 10), dismiss=(15, 10))


def test_ids_of_an_app_that_look_alike_are_no_alert() -> None:
    assert (
        find_alert(
            screen(
                ("com.shop:id/button1", "Buy", "com.shop"),
                ("com.shop:id/permission_allow_button", "Allow", "com.shop"),
                ("com.android.permissioncontroller:id/permission_allow_button", "Allow", "com.x"),
            )
        )
        is None
    )
