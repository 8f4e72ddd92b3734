"""What is done to a store now and then: a new key, erasing somebody, letting old things expire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.keys import Key, as_key
from anonrisk.core.pseudonyms import canonical
from anonrisk.errors import ArgumentError
from anonrisk.pseudonyms import erasure, retention, rotation
from anonrisk.pseudonyms.arguments import (
    at_least_one,
    name_of,
    pseudonym_of,
    reason_of,
    recipient_of,
)
from anonrisk.pseudonyms.rights import ANY
from anonrisk.pseudonyms.session import Doing

if TYPE_CHECKING:
    from anonrisk.pseudonyms.erasure import Erasure
    from anonrisk.pseudonyms.retention import Expiry
    from anonrisk.pseudonyms.rotation import Rotation
    from anonrisk.pseudonyms.session import StoreSession


class Upkeep:
    """The part of `IdentityProtector` that keeps a store in order."""

    _session: StoreSession

    def rotate(
        self, new_key: Key | bytes, *, by: str, reason: str, leave_unreadable: bool = False
    ) -> Rotation:
        """Give the store a new key, and go on with it here.

        From the first moment on only the new key opens the store: other processes that hold the
        old one are told so. Then every identity is sealed anew, 1,000 in a transaction. Who is
        interrupted opens the store with the new key and rotates to it again: that goes on.

        Pseudonyms that were issued are revealed as before. New ones are those of the new key:
        `convert` from a recipient to itself gives the new pseudonym of an old one.

        Parameters
        ----------
        new_key : Key or bytes
            The new key.
        by : str
            Who does it; must have been granted ``"rotate"``.
        reason : str
            Why; must not be blank.
        leave_unreadable : bool
            End the rotation although some identities cannot be opened, because somebody changed
            them. They stay as they are; after the rotation nothing opens them any more.

        Examples
        --------
        >>> from anonrisk.identity import IdentityProtector
        >>> keeper = IdentityProtector(Key.generate(), "sqlite://", admin="officer")
        >>> keeper.grant("security", "rotate", by="officer", reason="yearly rotation")
        >>> keeper.rotate(Key.generate(), by="security", reason="year 2").epoch
        2
        """
        doing = Doing(name_of(by, "by"), "rotate", reason=reason_of(reason))
        key = as_key(new_key)
        return rotation.rotate(self._session, key, doing, leave_unreadable=leave_unreadable)

    def erase(
        self,
        pseudonym: str | None = None,
        *,
        identity: Any = None,
        scope: str | None = None,
        by: str,
        reason: str,
    ) -> Erasure:
        """Erase a person: their pseudonyms lead to nobody, and they are issued no other.

        All pseudonyms of the person are erased, of every recipient and every key that the store
        has had. To find them every identity is opened, and nobody else can write meanwhile.

        Parameters
        ----------
        pseudonym : str, optional
            A pseudonym of the person, with the `scope` that it was issued for.
        identity : str, int, date or datetime, optional
            Or the person, without a scope.
        scope : str, optional
            The recipient of the pseudonym.
        by : str
            Who does it; must have been granted ``"erase"`` for every recipient that the person
            has a pseudonym of, and for ``"*"`` if the person is given.
        reason : str
            Why. It stays in the audit: name nobody there.

        Examples
        --------
        >>> from anonrisk.identity import IdentityProtector
        >>> keeper = IdentityProtector(Key.generate(), "sqlite://", admin="officer")
        >>> for action in ("issue", "reveal", "erase"):
        ...     keeper.grant("clerk", action, scope="*", per_day=5, by="officer", reason="job")
        >>> pseudonym = keeper.issue("Ann", scope="insurer", by="clerk", reason="admitted")
        >>> keeper.erase(identity="Ann", by="clerk", reason="request 12").pseudonyms
        1
        >>> keeper.reveal(pseudonym, scope="insurer", by="clerk", reason="question")
        Traceback (most recent call last):
        ...
        anonrisk.errors.ErasedError: the person behind this pseudonym was erased
        """
        if (pseudonym is None) == (identity is None):
            raise ArgumentError("erase takes a pseudonym with its scope=, or identity=")
        if (pseudonym is None) != (scope is None):
            raise ArgumentError("scope= is the recipient of a pseudonym: give both, or identity=")
        asked = None if pseudonym is None else pseudonym_of(pseudonym)
        person = None if identity is None else canonical(identity)
        where = ANY if scope is None else recipient_of(scope)
        doing = Doing(name_of(by, "by"), "erase", where, reason=reason_of(reason))
        return erasure.erase(self._session, doing, pseudonym=asked, identity=person)

    def set_retention(
        self, *, keep_identities: int | None, keep_audit: int | None, by: str, reason: str
    ) -> None:
        """Settle after how many days identities and events expire, from now on.

        Parameters
        ----------
        keep_identities : int or None
            Days since a pseudonym was last issued; None: for ever.
        keep_audit : int or None
            Days since an event; None: for ever.
        by : str
            Who settles it; must have been granted ``"grant"``.
        reason : str
            Why; must not be blank.
        """
        days = {
            "keep_identities": at_least_one(keep_identities, "keep_identities"),
            "keep_audit": at_least_one(keep_audit, "keep_audit"),
        }
        doing = Doing(name_of(by, "by"), "set_retention", reason=reason_of(reason))
        retention.set_retention(self._session, doing, days)

    def expire(self, *, by: str, reason: str) -> Expiry:
        """Erase identities and prune events that are older than they are kept.

        Nothing happens by itself: call it every night. Identities are erased whose pseudonym was
        last issued more days ago than `keep_identities`; they may be issued one again. To find
        them every identity is opened, and nobody else can write meanwhile.

        Parameters
        ----------
        by : str
            Who does it; must have been granted ``"erase"`` for ``"*"``. What expires does not
            count against the volume of the right.
        reason : str
            Why; must not be blank.

        Examples
        --------
        >>> from anonrisk.identity import IdentityProtector
        >>> keeper = IdentityProtector(
        ...     Key.generate(), "sqlite://", admin="officer", keep_identities=365, keep_audit=730
        ... )
        >>> keeper.grant("job", "erase", scope="*", per_day=1, by="officer", reason="nightly")
        >>> keeper.expire(by="job", reason="nightly").identities
        0
        """
        doing = Doing(name_of(by, "by"), "expire", ANY, reason=reason_of(reason))
        return retention.expire(self._session, doing)
