"""Stands for the signings of executors where a test is not about signatures: no app signs."""

from collections.abc import Collection

from wangtimer.core.signing.app_signing import AppSigning


class NeverSigned:
    """Every app has switched signing off."""

    def known(self, apps: Collection[str], _mark: str | None) -> dict[str, AppSigning]:
        return {app: AppSigning(app, 1, False, ()) for app in apps}

    def ask(self, apps: Collection[str]) -> dict[str, AppSigning]:
        return self.known(apps, None)

    def refresh(self, apps: Collection[str]) -> dict[str, AppSigning]:
        return self.known(apps, None)
