"""What stands beside, before and inside Chinese names of persons and firms. Data for `names_chinese`."""

from __future__ import annotations

import re
from typing import Final

TITLES: Final = (
    "先生|女士|小姐|老师|师傅|师父|医生|大夫|教授|阿姨|叔叔|伯伯|婶子|嫂子|大哥|大姐|大嫂|大叔|大婶|大伯|爷爷|奶奶|大爷|大妈|大娘|"
    "经理|老板|主任|书记|校长|园长|院长|所长|站长|厂长|村长|镇长|队长|局长|科长|处长|会计|律师|护士|警官|教练|导演|同学|同志|"
    "姐|哥|嫂|婶|叔|伯|爷|姨|姑|工|总"
)
KIN_TITLES: Final = "姐|哥|嫂|婶|叔|伯|爷|姨|姑"
TITLE_WORDS: Final = tuple(TITLES.split("|"))
NO_GIVEN: Final = frozenset(
    "大二三四五六七八九十小老表堂阿干亲我你他她您咱这那有是叫跟和找问各位空婆公舅外奶爸妈师学帅的把对给让请个老乡兄"
)
"""Characters before a word of kin that do not name anybody."""
NO_SURNAME_ALONE: Final = frozenset(
    "明公和关时高白方金水花农米车路石安平成毛古管阳封班商景别单项全解游麦党向于从应连师鱼沙牛马熊龙云雷温冷左右麻巫钱房包钟费"
)
"""Surnames that are mostly another word before a single character."""
FUNCTION_TAGS: Final = frozenset("c p d u uj ul v r f m q k y".split())

_ROLES: Final = (
    "司机|队长|园长|校长|主任|老板|老板娘|厂长|村长|镇长|书记|会计|师傅|徒弟|邻居|同事|同学|朋友|战友|工友|侄子|侄女|外甥|外甥女|"
    "表弟|表哥|表姐|表妹|堂弟|堂哥|堂姐|堂妹|弟弟|哥哥|姐姐|妹妹|弟|妹|爱人|丈夫|妻子|老伴|老婆|老公|媳妇|女儿|儿子|闺女|孙子|孙女|外孙|外孙女|"
    "儿媳|女婿|岳母|岳父|婆婆|父亲|母亲|爸爸|妈妈|外婆|外公|奶奶|爷爷|舅舅|叔叔|阿姨|伯伯|老师|医生|护士|护工|门卫|店主|房东|租客|组长|团长|导演|"
    "编剧|演员|兽医|木匠|铁匠|裁缝|厨师|大厨|船长|船老大|渔民|站长|院长|所长|馆长|会长|理事长|经理|店长|教练|班主任|掌柜|伙计|老乡|搭档|合伙人"
)
ROLE_BEFORE: Final = re.compile(rf"(?:{_ROLES})$")
CALLED: Final = (
    "叫",
    "名叫",
    "叫做",
    "大名",
    "名字是",
    "我是",
    "姓名",
    "本名",
    "真名",
    "外号",
    "绰号",
    "人称",
    "叫我",
    "叫他",
    "叫她",
    "喊他",
    "喊她",
    "喊",
)
WITH: Final = (
    "和",
    "跟",
    "给",
    "找",
    "问",
    "让",
    "请",
    "替",
    "帮",
    "向",
    "对",
    "被",
    "把",
    "由",
    "归",
    "叫",
    "听",
    "同",
    "与",
    "问过",
    "找过",
    "帮过",
    "托",
    "等",
    "陪",
    "教",
    "谢谢",
    "感谢",
)
SPEAKS: Final = (
    "说",
    "讲",
    "告诉",
    "答应",
    "问我",
    "问他",
    "教我",
    "教他",
    "认识",
    "家的",
    "家里",
    "跟我",
    "和我",
    "对我",
    "给我",
    "借给",
    "借我",
    "帮我",
    "管着",
    "管账",
    "不肯",
    "愿意",
    "同意",
    "点头",
    "退休",
    "招呼",
)
DOES: Final = (
    *SPEAKS,
    "在",
    "会",
    "把",
    "也",
    "都",
    "不",
    "是",
    "有",
    "要",
    "想",
    "从",
    "每",
    "去",
    "来",
    "住",
    "做",
    "管",
    "教",
    "带",
    "送",
    "卖",
    "开",
    "修",
    "家",
    "爱",
    "能",
    "还",
    "今年",
    "那",
    "一直",
    "已经",
    "刚",
)
NEVER_AFTER: Final = ("了", "着", "地", "起来", "下来", "上去", "出来", "们")
"""Never after a name: what says how a verb goes on."""
PLACE_AFTER: Final = tuple("村镇县市乡湾桥岭坡滩街巷庙寺庄屯沟坝港")
COUNTED: Final = re.compile(r"[0-9第]$|[一二两三四五六七八九十百千几半多每][张支班车项段句节席个只条块台]?$")
NO_NAME_END: Final = tuple("草菜药饼肉粥汤茶酒饭面粉机班店铺厂里们的了着木钟表蜂虫鸟村镇乡县湾岛港潮") + tuple(
    TITLES.split("|")
)
NO_FAMILIAR: Final = frozenset("是了的在有不能要会想去来得着把被给跟和就也都还爹公婆妈爸嫂弟妹叔伯婶姨爷奶哥姐舅姑")
"""After 老, 小, 大, 阿: what makes no name of a person of it."""
FOLLOWERS: Final = 3
"""Of so many different characters after the first two of a supposed name, the two are a word: 芦埠人, 芦埠桥, 芦埠镇."""
FREQUENT_WORD: Final = 50
"""Occurrences in jieba's dictionary of a word that begins a supposed name: 高中 in 高中生."""
NOUN_AFTER: Final = tuple("头子板话屋街桥路城房")
WHERE: Final = "里上下中外内旁边"
SHOP_AFTER: Final = re.compile(r"[\u4e00-\u9fff]{0,6}店")
FREQUENT: Final = 60
"""A name of jieba's dictionary that is more frequent is mostly a word or somebody known to everybody."""

RARE: Final = 30
"""Occurrences in jieba's dictionary below which its tag of 老方 or 小林 says little."""
FOREIGN: Final = frozenset(
    "阿埃艾巴贝比波布达德迪蒂顿多尔法菲弗盖格戈古哈赫基吉加卡科克拉莱劳勒雷里利林卢伦罗洛马曼梅蒙米姆莫纳内尼诺帕佩皮普奇乔塞瑟沙史斯苏索塔台泰特托瓦威维沃西希亚伊扎佐梭松丁"
)
"""Characters of transliterations: 马拉松, 蒙台梭利."""

FIRMS: Final = (
    "有限公司|有限责任公司|股份公司|公司|集团|工作室|工作坊|事务所|商行|车行|琴行|饭店|酒店|宾馆|旅馆|客栈|餐厅|餐馆|面馆|饭馆|粉店|茶馆|茶楼|茶庄|酒楼|酒庄|酒坊|"
    "超市|书店|药店|药房|花店|布店|粮店|杂货店|便利店|洗衣店|理发店|修理店|蛋糕店|面包店|小吃店|修理铺|修车铺|铺子|诊所|印刷厂|加工厂|工厂|厂|银行|物流|车队|"
    "幼儿园|托儿所|托育园|托育中心|养老院|敬老院|护理院|培训中心|合作社|联社|公社|养殖场|"
    "照相馆|健身房|琴房|画室|书院|书屋|剧社"
)
FIRM_END: Final = re.compile(rf"(?:{FIRMS})$")
LONGEST_FIRM: Final = 4
"""Words before the kind of firm."""
NAMING_TAGS: Final = frozenset("nz nr nrfg nrt nt".split())
IN_FIRM: Final = NAMING_TAGS | frozenset("n vn ng j i l a v b an g".split())
NOT_IN_FIRM: Final = frozenset(
    "租给 卖给 送到 交给 送给 是 有 在 去 来 开 做 办 到 给 跟 找 问 叫 老 大 新 旧 一家 家 去年 今年 这家 那家 开办 经营 关掉 进 出 离开 属于 附近 隔壁 "
    "租 卖 买 带 送 想 想要 要 会 能 当 用 让 请 收 看 说 知道 认识 需要 没有 没 像 打 打工 倒闭 关门 搬 搬到 像是 所有 许多".split()
)
TRADES: Final = frozenset(
    """
    保安 清洁 保洁 食品 服装 印刷 物流 搬家 装修 装饰 建筑 建材 保险 电力 自来水 煤气 燃气 供电 供热 公交 公共汽车 出租 出租车 旅游 广告 科技 网络 软件 贸易 外贸
    商贸 家政 物业 快递 货运 客运 运输 农机 机械 化工 化肥 纺织 家具 木材 陶瓷 玻璃 水泥 钢铁 造纸 制药 罐头 面粉 啤酒 酒 糖 制糖 鞋 帽子 棉纺 毛纺 丝绸 砖 砖瓦
    冷链 冷冻 水产 屠宰 饲料 种子 农业 生产 供销 蔬菜 水果 粮食 奶 乳品 牛奶 汽车 修车 修理 理发 洗衣 缝纫 五金 文具 玩具 电子 电器 家电 手机 电脑 通信 电信
    移动 投资 金融 信用 房地产 房产 开发 设计 咨询 文化 传媒 影视 演出 婚庆 殡葬 环保 生态 园林 绿化 养殖 种植 渔业 林业 畜牧 上市 股份 国营 国有 民营 私营 私人
    外资 合资 跨国 大型 小型 中型 大 小 老 新 旧 原 总 分 母 子 本地 外地 当地 城里 镇上 县里 村里 街道 社区 小区 单位 学校 医院 机关 家庭 公立 民办 私立 普惠 中心
    轮渡 渡轮 地铁 航运 航空 铁路 公路 高速公路 大师 名师 火车 汽车站 高档 便宜 五星级 连锁 全国 地方 农村 农民 商业 儿童 老年 老人 康复 临时 自己 国际 早餐 快餐 海鲜 火锅 烧烤 素食 路边 街边 对面 夫妻 家常 修鞋
    """.split()
)
"""Words before a kind of firm that say what it does, where it is or how large it is, and do not name it."""
