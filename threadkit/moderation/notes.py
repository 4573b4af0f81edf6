"""What moderators note about people: for the staff of one site, and for those only who stand above the person."""

import msgspec

from threadkit.clock import Clock
from threadkit.ids import SiteId, UserId, new_uuid
from threadkit.moderation.people_model import Note, NoteNotFound, NotYourNote, TooManyNotes
from threadkit.moderation.people_scripts import MOST_NOTES, AddNote
from threadkit.sites.roles import Role
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer


class NoteService:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._add_note = AddNote(redis, keys)

    async def add(self, site_id: SiteId, user_id: UserId, text: str, *, by: Viewer) -> Note:
        note = Note(id=new_uuid(), by=by.id, text=text, at_ms=self._clock.now_ms())
        if not await self._add_note(site_id, user_id, note):
            raise TooManyNotes(most=MOST_NOTES)
        return note

    async def about(self, site_id: SiteId, user_id: UserId) -> list[Note]:
        """Newest first."""
        stored = await self._redis.hvals(self._keys.site(site_id).notes_about(user_id))
        return sorted((msgspec.json.decode(text, type=Note) for text in stored), key=lambda note: note.id, reverse=True)

    async def delete(self, site_id: SiteId, user_id: UserId, note_id: str, *, by: Viewer) -> None:
        key = self._keys.site(site_id).notes_about(user_id)
        stored = await self._redis.hget(key, note_id)
        if stored is None:
            raise NoteNotFound
        if msgspec.json.decode(stored, type=Note).by != by.id and by.role < Role.ADMIN:
            raise NotYourNote
        await self._redis.hdel(key, note_id)
