"""Texts of notifications that the server itself writes, in the users' languages."""

from typing import Final, NamedTuple


class PushPhrases(NamedTuple):
    mentioned_you: str
    mentioned_group: str
    mentioned_everyone: str
    new_message: str
    """Replaces message content that may not be shown."""
    test_title: str
    test_body: str
    unknown_user: str


ENGLISH: Final = PushPhrases(
    "{name} mentioned you:",
    "{name} mentioned @{group}:",
    "{name} mentioned everyone:",
    "New message",
    "Test notification",
    "This is a test notification from {realm} ({url}).",
    "Unknown user",
)

_PHRASES: Final = {
    "cs": PushPhrases(
        "{name} vás zmiňuje:",
        "{name} zmiňuje @{group}:",
        "{name} zmiňuje všechny:",
        "Nová zpráva",
        "Zkušební oznámení",
        "Toto je zkušební oznámení od {realm} ({url}).",
        "Neznámý uživatel",
    ),
    "de": PushPhrases(
        "{name} hat dich erwähnt:",
        "{name} hat @{group} erwähnt:",
        "{name} hat alle erwähnt:",
        "Neue Nachricht",
        "Testbenachrichtigung",
        "Dies ist eine Testbenachrichtigung von {realm} ({url}).",
        "Unbekannter Nutzer",
    ),
    "es": PushPhrases(
        "{name} te ha mencionado:",
        "{name} ha mencionado a @{group}:",
        "{name} ha mencionado a todos:",
        "Nuevo mensaje",
        "Notificación de prueba",
        "Esta es una notificación de prueba de {realm} ({url}).",
        "Usuario desconocido",
    ),
    "fr": PushPhrases(
        "{name} vous a mentionné :",
        "{name} a mentionné @{group} :",
        "{name} a mentionné tout le monde :",
        "Nouveau message",
        "Notification de test",
        "Ceci est une notification de test de {realm} ({url}).",
        "Utilisateur inconnu",
    ),
    "it": PushPhrases(
        "{name} ti ha menzionato:",
        "{name} ha menzionato @{group}:",
        "{name} ha menzionato tutti:",
        "Nuovo messaggio",
        "Notifica di prova",
        "Questa è una notifica di prova da {realm} ({url}).",
        "Utente sconosciuto",
    ),
    "ja": PushPhrases(
        "{name}さんがあなたをメンションしました:",
        "{name}さんが@{group}をメンションしました:",
        "{name}さんが全員をメンションしました:",
        "新しいメッセージ",
        "テスト通知",
        "{realm} ({url}) からのテスト通知です。",
        "不明なユーザー",
    ),
    "nl": PushPhrases(
        "{name} heeft je genoemd:",
        "{name} heeft @{group} genoemd:",
        "{name} heeft iedereen genoemd:",
        "Nieuw bericht",
        "Testmelding",
        "Dit is een testmelding van {realm} ({url}).",
        "Onbekende gebruiker",
    ),
    "pl": PushPhrases(
        "{name} wspomina o tobie:",
        "{name} wspomina @{group}:",
        "{name} wspomina wszystkich:",
        "Nowa wiadomość",
        "Powiadomienie testowe",
        "To jest powiadomienie testowe z {realm} ({url}).",
        "Nieznany użytkownik",
    ),
    "pt": PushPhrases(
        "{name} mencionou você:",
        "{name} mencionou @{group}:",
        "{name} mencionou todos:",
        "Nova mensagem",
        "Notificação de teste",
        "Esta é uma notificação de teste de {realm} ({url}).",
        "Usuário desconhecido",
    ),
    "ru": PushPhrases(
        "{name} упоминает вас:",
        "{name} упоминает @{group}:",
        "{name} упоминает всех:",
        "Новое сообщение",
        "Тестовое уведомление",
        "Это тестовое уведомление от {realm} ({url}).",
        "Неизвестный пользователь",
    ),
    "uk": PushPhrases(
        "{name} згадує вас:",
        "{name} згадує @{group}:",
        "{name} згадує всіх:",
        "Нове повідомлення",
        "Тестове сповіщення",
        "Це тестове сповіщення від {realm} ({url}).",
        "Невідомий користувач",
    ),
    "zh-hans": PushPhrases(
        "{name} 提到了您:",
        "{name} 提到了 @{group}:",
        "{name} 提到了所有人:",
        "新消息",
        "测试通知",
        "这是来自 {realm} ({url}) 的测试通知。",
        "未知用户",
    ),
}


def phrases_in(language: str) -> PushPhrases:
    """Return the texts of the language, of its main form (`pt-br`: `pt`), or in English."""
    return _PHRASES.get(language) or _PHRASES.get(language.partition("-")[0]) or ENGLISH
