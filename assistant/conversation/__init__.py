"""One turn of the conversation: text and attachments in, reply out. Every face uses it."""

from assistant.conversation.session import Answered, Asked, Attached, Event, Said, Session, Undone
from assistant.conversation.turn import Conversation, Reply

__all__ = ["Answered", "Asked", "Attached", "Conversation", "Event", "Reply", "Said", "Session", "Undone"]
